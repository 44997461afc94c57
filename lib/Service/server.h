/* Service/server.h: HTTP by libmicrohttpd: connections, bodies, answers. */
#ifndef HD_SERVER_H
#define HD_SERVER_H

#include "Service/service.h"

struct hd_request;
typedef struct hd_server hd_server;

hd_server *hd_server_create(hd_service *service);
heddle_status hd_server_listen(heddle_context *ctx, hd_server *server, int fd);
/* No new connections; hd_server_free ends those that there are. */
void hd_server_quiesce(hd_server *server);
void hd_server_free(hd_server *server); /* accepts NULL */

/* Ends connections that take too long to say what they want. */
void hd_server_cut_slow(hd_service *service);

#endif

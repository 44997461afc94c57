/* Service/server.h: the HTTP server (libmicrohttpd): connections, bodies, answers. */
#ifndef HD_SERVER_H
#define HD_SERVER_H

#include "Service/service.h"

struct hd_request;
typedef struct hd_server hd_server;

hd_server *hd_server_create(hd_service *service);
heddle_status hd_server_listen(heddle_context *ctx, hd_server *server, int fd);
/* Accepts no new connections. hd_server_free closes existing ones. */
void hd_server_quiesce(hd_server *server);
void hd_server_free(hd_server *server); /* accepts NULL */

/* Closes connections that take too long to send a complete request. */
void hd_server_cut_slow(hd_service *service);

#endif

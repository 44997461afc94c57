/* The listening sockets of heddled. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "Support/diag.h"
#include "heddled.h"

static heddle_status failed(heddle_context *ctx, const char *address, const char *what) {
  return hd_error(ctx, HEDDLE_ENVIRONMENT, HD_NOWHERE, "config.listen", "cannot %s %s: %s", what,
                  address, strerror(errno));
}

/* Replaces a socket file that a previous daemon left; refuses one that accepts connections. */
static heddle_status listen_unix(heddle_context *ctx, const char *path, int *out) {
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length >= sizeof a.sun_path)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "config.listen",
                    "got a path of %zu bytes; legal: at most %zu", length, sizeof a.sun_path - 1);
  memcpy(a.sun_path, path, length + 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0) {
    close(fd);
    errno = EADDRINUSE;
    return failed(ctx, path, "listen on");
  }
  if (errno == ECONNREFUSED)
    unlink(path);
  if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 1024) != 0) {
    close(fd);
    return failed(ctx, path, "listen on");
  }
  *out = fd;
  return HEDDLE_OK;
}

/* Parses "ADDRESS:PORT" or "[ADDRESS]:PORT". */
static heddle_status listen_tcp(heddle_context *ctx, const char *address, int *out) {
  char host[256];
  int one = 1, fd = -1;
  const char *colon = strrchr(address, ':');
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  struct addrinfo *found;
  if (!colon)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "config.listen",
                    "got \"%.100s\"; legal: ADDRESS:PORT, [ADDRESS]:PORT, unix:PATH; nearest: "
                    "127.0.0.1:7433",
                    address);
  bool bracketed = address[0] == '[';
  snprintf(host, sizeof host, "%.*s", (int)(colon - address) - 2 * bracketed, address + bracketed);
  int code = getaddrinfo(host, colon + 1, &hints, &found);
  if (code != 0)
    return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "config.listen", "got \"%.100s\": %s", address,
                    gai_strerror(code));
  fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
            bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 4096) == 0;
  freeaddrinfo(found);
  if (!ok) {
    heddle_status status = failed(ctx, address, "listen on");
    if (fd >= 0)
      close(fd);
    return status;
  }
  *out = fd;
  return HEDDLE_OK;
}

heddle_status listen_all(heddle_context *ctx, const char *addresses, int fds[MAX_LISTEN], int *n) {
  *n = 0;
  while (*addresses) {
    char one[256];
    size_t length = strcspn(addresses, ",");
    snprintf(one, sizeof one, "%.*s", (int)length, addresses);
    if (*n == MAX_LISTEN)
      return hd_error(ctx, HEDDLE_INVALID, HD_NOWHERE, "config.listen",
                      "got more than %d addresses; legal: at most %d", MAX_LISTEN, MAX_LISTEN);
    HD_TRY(strncmp(one, "unix:", 5) == 0 ? listen_unix(ctx, one + 5, &fds[*n])
                                         : listen_tcp(ctx, one, &fds[*n]));
    ++*n;
    addresses += length + (addresses[length] == ',');
  }
  return HEDDLE_OK;
}

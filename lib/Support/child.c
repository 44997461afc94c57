#include "Support/child.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "Support/diag.h"
#include "Support/spawn.h"

heddle_status hd_child_start(heddle_context *ctx, const char *const *argv, hd_child *child) {
  hd_child started = {0};
  HD_TRY(hd_spawn(ctx, argv, HD_SPAWN_TALK, NULL, 0, &started.pid, &started.fd));
  *child = started;
  return HEDDLE_OK;
}

/* A line is short compared to the socket's buffer. If it does not fit, the child does not read. */
bool hd_child_say(hd_child *child, const char *line) {
  hd_strbuf text = {0};
  hd_strbuf_printf(&text, "%s\n", line);
  ssize_t n = child->pid ? send(child->fd, text.text, text.len, MSG_NOSIGNAL) : -1;
  bool said = n == (ssize_t)text.len;
  hd_strbuf_free(&text);
  return said;
}

/* Reads the available bytes, up to a limit: a child that never stops writing must not prevent its
 * timeout, nor fill the memory. */
static void hear(hd_child *child) {
  enum { CHUNKS = 64, MAX_PENDING_BYTES = 1 << 20 };
  char chunk[4096];
  ssize_t n = 1;
  for (int i = 0; i < CHUNKS && (n = read(child->fd, chunk, sizeof chunk)) > 0; i++)
    hd_strbuf_addn(&child->heard, chunk, (size_t)n);
  child->ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ||
                 child->heard.len > MAX_PENDING_BYTES;
}

bool hd_child_take(hd_child *child, hd_strbuf *line) {
  const char *text = hd_strbuf_text(&child->heard), *end = memchr(text, '\n', child->heard.len);
  if (!end)
    return false;
  size_t n = (size_t)(end - text);
  line->len = 0;
  hd_strbuf_addn(line, text, n);
  child->heard.len -= n + 1;
  memmove(child->heard.text, end + 1, child->heard.len + 1);
  return true;
}

void hd_children_wait(hd_child *const *children, int n, double timeout_s) {
  enum { MAX_CHILDREN = 256 };
  struct pollfd wanted[MAX_CHILDREN];
  hd_child *of[MAX_CHILDREN];
  int n_wanted = 0;
  for (int i = 0; i < n && n_wanted < MAX_CHILDREN; i++)
    if (children[i] && children[i]->pid && !children[i]->ended) {
      of[n_wanted] = children[i];
      wanted[n_wanted++] = (struct pollfd){.fd = children[i]->fd, .events = POLLIN};
    }
  int ms = timeout_s <= 0 ? 0 : timeout_s > 3600 ? 3600000 : (int)(timeout_s * 1e3) + 1;
  if (poll(wanted, (nfds_t)n_wanted, ms) <= 0)
    return;
  for (int i = 0; i < n_wanted; i++)
    if (wanted[i].revents)
      hear(of[i]);
}

void hd_child_stop(hd_child *child, int *how) {
  enum { END_SECONDS = 1 };
  int status = 0;
  if (child->pid) {
    /* Does not kill a child that ends by itself, so that its exit code is kept. */
    if (!child->ended || !hd_spawn_wait(child->pid, END_SECONDS, &status))
      hd_spawn_kill(child->pid, &status);
    close(child->fd);
  }
  if (how)
    *how = hd_exit_code(status);
  hd_strbuf_free(&child->heard);
  *child = (hd_child){0};
}

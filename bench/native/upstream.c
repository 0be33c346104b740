/*
 * The fake upstream of the benchmark: one thread that answers every request with bytes from files.
 *
 *   upstream COMPLETION FIRST EVENT END     prints its port
 *
 * A request whose body contains "stream":true gets FIRST, EVENT... and END; any other COMPLETION.
 * Orders are lines on stdin, and each is answered by a line:
 *
 *   shape EVENTS PACE_US   the streams from now on; EVENTS -1 never end, PACE_US -1 falls silent
 *                          after the first event, 0 follows as fast as the reader takes it
 *   end                    ends the endless streams; answered with the number of their events
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_REQUEST (1 << 20)
#define FINAL_EVENTS 3
#define ENDLESS -1
#define SILENT -1

struct bytes {
  char *data;
  size_t length;
};

struct connection {
  int fd;
  char *request;
  size_t received;
  /* What the socket did not take yet. */
  char *unsent;
  size_t unsent_length;
  int is_streaming;
  long events_left, events_sent, pace_us;
  double due_ms;
  struct connection *next_due;
};

static struct bytes completion, first, event, end;
static int poller;
static long shape_events = 1, shape_pace_us = 0;
/* Streams with a pace, the next one due first: all have the same pace. */
static struct connection *due_head, *due_tail;
static struct connection **endless;
static int endless_count, endless_room;

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static struct bytes read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  struct bytes bytes = {malloc(MAX_REQUEST), 0};
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  bytes.length = fread(bytes.data, 1, MAX_REQUEST, file);
  fclose(file);
  return bytes;
}

static void watch(struct connection *connection, unsigned extra) {
  struct epoll_event change = {.events = EPOLLIN | extra, .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &change);
}

/* Returns whether all of it was taken. */
static int send_bytes(struct connection *connection, struct bytes bytes) {
  if (connection->fd < 0) return 1;
  ssize_t sent = connection->unsent_length > 0 ? 0 : write(connection->fd, bytes.data, bytes.length);
  if (sent < 0) sent = 0;
  if ((size_t)sent == bytes.length) return 1;
  size_t rest = bytes.length - sent;
  connection->unsent = realloc(connection->unsent, connection->unsent_length + rest);
  memcpy(connection->unsent + connection->unsent_length, bytes.data + sent, rest);
  connection->unsent_length += rest;
  watch(connection, EPOLLOUT);
  return 0;
}

static void queue_due(struct connection *connection, double due_ms) {
  connection->due_ms = due_ms;
  connection->next_due = NULL;
  if (due_tail != NULL) due_tail->next_due = connection;
  else due_head = connection;
  due_tail = connection;
}

/* Sends the next event, or the end. Returns whether the stream goes on and the socket has room. */
static int advance(struct connection *connection) {
  if (connection->events_left == 0) {
    connection->is_streaming = 0;
    send_bytes(connection, end);
    return 0;
  }
  if (connection->events_left > 0) connection->events_left--;
  return send_bytes(connection, connection->events_sent++ == 0 ? first : event);
}

static void flood(struct connection *connection) {
  while (connection->is_streaming && advance(connection));
}

static void start_stream(struct connection *connection) {
  connection->is_streaming = 1;
  connection->events_left = shape_events;
  connection->events_sent = 0;
  connection->pace_us = shape_pace_us;
  if (shape_events == ENDLESS) {
    if (endless_count == endless_room) {
      endless_room = endless_room ? endless_room * 2 : 1024;
      endless = realloc(endless, endless_room * sizeof *endless);
    }
    endless[endless_count++] = connection;
  }
  if (shape_pace_us == 0) {
    flood(connection);
    return;
  }
  advance(connection);
  if (shape_pace_us != SILENT) queue_due(connection, now_ms() + shape_pace_us / 1e3);
}

/* The connection itself is kept: a list may still have it. */
static void close_connection(struct connection *connection) {
  close(connection->fd);
  connection->fd = -1;
  connection->unsent_length = 0;
  free(connection->request);
  connection->request = NULL;
}

static void receive(struct connection *connection) {
  ssize_t got = read(connection->fd, connection->request + connection->received,
                     MAX_REQUEST - 1 - connection->received);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) {
    close_connection(connection);
    return;
  }
  connection->received += got;
  connection->request[connection->received] = 0;
  char *body = memmem(connection->request, connection->received, "\r\n\r\n", 4);
  if (body == NULL) return;
  char *field = strcasestr(connection->request, "\ncontent-length:");
  size_t length = field != NULL && field < body ? strtoul(field + strlen("\ncontent-length:"), NULL, 10) : 0;
  body += 4;
  if (connection->received < (size_t)(body - connection->request) + length) return;
  connection->received = 0;
  if (memmem(body, length, "\"stream\":true", strlen("\"stream\":true")) != NULL) start_stream(connection);
  else send_bytes(connection, completion);
}

static void send_rest(struct connection *connection) {
  ssize_t sent = write(connection->fd, connection->unsent, connection->unsent_length);
  if (sent < 0) return;
  connection->unsent_length -= sent;
  memmove(connection->unsent, connection->unsent + sent, connection->unsent_length);
  if (connection->unsent_length > 0) return;
  watch(connection, 0);
  if (connection->is_streaming && connection->pace_us == 0) flood(connection);
}

static void accept_all(int listener) {
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *connection = calloc(1, sizeof *connection);
    connection->fd = fd;
    connection->request = malloc(MAX_REQUEST);
    struct epoll_event change = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &change);
  }
}

static long end_streams(void) {
  long events = 0;
  for (int i = 0; i < endless_count; i++) {
    events += endless[i]->events_sent + FINAL_EVENTS;
    endless[i]->is_streaming = 0;
    send_bytes(endless[i], end);
  }
  endless_count = 0;
  return events;
}

static void execute(void) {
  char line[128];
  if (fgets(line, sizeof line, stdin) == NULL) exit(0);
  if (sscanf(line, "shape %ld %ld", &shape_events, &shape_pace_us) == 2) printf("0\n");
  else printf("%ld\n", end_streams());
}

/* Returns how long to wait for the next event that is due, in milliseconds; -1 if there is none. */
static int send_due(void) {
  double now = now_ms();
  while (due_head != NULL && due_head->due_ms <= now) {
    struct connection *connection = due_head;
    due_head = connection->next_due;
    if (due_head == NULL) due_tail = NULL;
    if (connection->fd < 0 || !connection->is_streaming) continue;
    advance(connection);
    if (connection->is_streaming) queue_due(connection, connection->due_ms + connection->pace_us / 1e3);
  }
  if (due_head == NULL) return -1;
  int wait = (int)(due_head->due_ms - now);
  return wait < 1 ? 1 : wait;
}

int main(int count, char **words) {
  if (count != 5) return 2;
  completion = read_file(words[1]);
  first = read_file(words[2]);
  event = read_file(words[3]);
  end = read_file(words[4]);
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, NULL, _IONBF, 0);
  setvbuf(stdin, NULL, _IONBF, 0);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 4096) != 0) {
    perror("upstream");
    return 1;
  }
  getsockname(listener, (struct sockaddr *)&address, &size);
  printf("%d\n", ntohs(address.sin_port));
  poller = epoll_create1(0);
  struct epoll_event accepting = {.events = EPOLLIN, .data.ptr = &listener};
  struct epoll_event ordering = {.events = EPOLLIN, .data.ptr = &poller};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &accepting);
  epoll_ctl(poller, EPOLL_CTL_ADD, STDIN_FILENO, &ordering);
  struct epoll_event ready[256];
  for (;;) {
    int number = epoll_wait(poller, ready, 256, send_due());
    for (int i = 0; i < number; i++) {
      void *subject = ready[i].data.ptr;
      if (subject == &listener) accept_all(listener);
      else if (subject == &poller) execute();
      else {
        struct connection *connection = subject;
        if (connection->fd >= 0 && ready[i].events & EPOLLOUT) send_rest(connection);
        if (connection->fd >= 0 && ready[i].events & ~EPOLLOUT) receive(connection);
      }
    }
  }
}

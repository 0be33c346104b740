/*
 * The load generator of the benchmark: one thread, kept-alive connections, one run.
 *
 *   load closed CONNECTIONS ms|requests LENGTH PORT REQUEST    one request after another on each
 *   load open PER_SECOND ms|requests LENGTH PORT REQUEST       requests at a fixed rate
 *
 * REQUEST is a file with the bytes of a request. Prints one JSON object: the answers, the events in
 * their bodies, and latencies that count from when a request was due, however late it was sent.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_HEAD 16384
#define READ_BYTES 65536
/* Of the body of an answer that is no 200. */
#define MAX_SHOWN 400
/* With more connections than this the server clearly does not keep up with the rate. */
#define MAX_CONNECTIONS 2000
/* At a fixed rate, connections for the requests of this time are opened in advance. */
#define EXPECTED_SECONDS 0.05

enum part { HEAD, SIZED, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER };

struct connection {
  int fd;
  double due_ms, first_byte_ms;
  enum part part;
  int status, is_chunked, is_last_chunk;
  size_t left, head_length, size_length, shown_length;
  char head[MAX_HEAD], size[20], shown[MAX_SHOWN + 1];
};

struct samples {
  double *values;
  size_t count, room;
};

static int poller, port, is_open;
static char *request;
static size_t request_length;
static struct connection *idle[MAX_CONNECTIONS];
static int idle_count, connection_count;
static struct samples first_bytes, totals;
static long sent, in_flight, line_feeds, most_requests = -1;
static double started_ms, last_answer_ms, deadline_ms;
static int is_sending = 1;
static char failure[MAX_SHOWN + 100];

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void fail(const char *why) {
  if (failure[0] == 0) snprintf(failure, sizeof failure, "%s", why);
  is_sending = 0;
}

static void add(struct samples *samples, double value) {
  if (samples->count == samples->room) {
    samples->room = samples->room ? samples->room * 2 : 65536;
    samples->values = realloc(samples->values, samples->room * sizeof *samples->values);
  }
  samples->values[samples->count++] = value;
}

static struct connection *open_connection(void) {
  if (connection_count == MAX_CONNECTIONS) {
    fail("the server does not keep up with the rate");
    return NULL;
  }
  struct connection *connection = calloc(1, sizeof *connection);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int on = 1;
  connection->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0) {
    fail(strerror(errno));
    return NULL;
  }
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct epoll_event change = {.events = EPOLLIN, .data.ptr = connection};
  epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &change);
  connection_count++;
  return connection;
}

static void send_request(struct connection *connection, double due_ms) {
  connection->due_ms = due_ms;
  connection->first_byte_ms = 0;
  connection->part = HEAD;
  connection->head_length = 0;
  connection->shown_length = 0;
  sent++;
  in_flight++;
  if (write(connection->fd, request, request_length) != (ssize_t)request_length) fail("a request could not be sent");
}

/* Reads the head, once it is complete. Returns 0 if the server's answer cannot be understood. */
static int read_head(struct connection *connection) {
  connection->head[connection->head_length] = 0;
  connection->status = atoi(connection->head + strlen("HTTP/1.1 "));
  connection->is_chunked = strcasestr(connection->head, "\ntransfer-encoding: chunked") != NULL;
  connection->is_last_chunk = 0;
  connection->size_length = 0;
  connection->part = connection->is_chunked ? CHUNK_SIZE : SIZED;
  if (connection->is_chunked) return 1;
  char *field = strcasestr(connection->head, "\ncontent-length:");
  if (field == NULL) return 0;
  connection->left = strtoul(field + strlen("\ncontent-length:"), NULL, 10);
  return 1;
}

/* The beginning of a body that says why there was no 200, as it can stand in a string of JSON. */
static void show(struct connection *connection, const char *bytes, size_t length) {
  for (size_t at = 0; at < length && connection->shown_length < MAX_SHOWN; at++) {
    char byte = bytes[at];
    connection->shown[connection->shown_length++] = byte < ' ' ? ' ' : byte == '"' || byte == '\\' ? '\'' : byte;
  }
  connection->shown[connection->shown_length] = 0;
}

static void read_body(const char *bytes, size_t length) {
  for (const char *at = bytes; (at = memchr(at, '\n', bytes + length - at)) != NULL; at++) line_feeds++;
}

/* Returns whether the answer is complete. */
static int take(struct connection *connection, const char *bytes, size_t length) {
  size_t at = 0;
  while (at < length) {
    char byte = bytes[at];
    switch (connection->part) {
      case HEAD:
        if (connection->head_length == MAX_HEAD - 1) {
          fail("the head of an answer is too long");
          return 0;
        }
        connection->head[connection->head_length++] = byte;
        at++;
        if (byte != '\n' || connection->head_length < 4 ||
            memcmp(connection->head + connection->head_length - 4, "\r\n\r\n", 4) != 0)
          break;
        if (!read_head(connection)) fail("an answer has no length");
        if (connection->part == SIZED && connection->left == 0) return 1;
        break;
      case SIZED:
      case CHUNK: {
        size_t part = length - at < connection->left ? length - at : connection->left;
        if (connection->first_byte_ms == 0) connection->first_byte_ms = now_ms();
        read_body(bytes + at, part);
        if (connection->status != 200) show(connection, bytes + at, part);
        at += part;
        connection->left -= part;
        if (connection->left > 0) break;
        if (connection->part == SIZED) return 1;
        connection->part = CHUNK_END;
        connection->left = 2;
        break;
      }
      case CHUNK_END:
        at++;
        if (--connection->left == 0) connection->part = CHUNK_SIZE;
        break;
      case CHUNK_SIZE:
        at++;
        if (byte != '\n') {
          if (connection->size_length < sizeof connection->size - 1) connection->size[connection->size_length++] = byte;
          break;
        }
        connection->size[connection->size_length] = 0;
        connection->size_length = 0;
        connection->left = strtoul(connection->size, NULL, 16);
        connection->part = connection->left == 0 ? TRAILER : CHUNK;
        break;
      case TRAILER:
        at++;
        if (byte == '\n') return 1;
        break;
    }
  }
  return 0;
}

static void answered(struct connection *connection) {
  double now = now_ms();
  in_flight--;
  last_answer_ms = now;
  if (connection->status != 200) {
    char why[sizeof failure];
    snprintf(why, sizeof why, "the server answered %d: %s", connection->status, connection->shown);
    fail(why);
  }
  add(&first_bytes, connection->first_byte_ms - connection->due_ms);
  add(&totals, now - connection->due_ms);
  if (is_open) idle[idle_count++] = connection;
  else if (is_sending && (most_requests < 0 || sent < most_requests)) send_request(connection, now);
}

static void receive(struct connection *connection) {
  static char bytes[READ_BYTES];
  ssize_t got = recv(connection->fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) fail("the server closed a connection");
  else if (take(connection, bytes, got)) answered(connection);
}

/* Sends what is due by now. Returns how long to wait for the next one, in milliseconds. */
static double send_due(double per_second) {
  double now = now_ms();
  long due = (long)((now - started_ms) * per_second / 1e3);
  if (due > most_requests) due = most_requests;
  while (sent < due && is_sending) {
    struct connection *connection = idle_count > 0 ? idle[--idle_count] : open_connection();
    if (connection != NULL) send_request(connection, started_ms + (sent + 1) * 1e3 / per_second);
  }
  if (sent >= most_requests) is_sending = 0;
  double next_ms = started_ms + (sent + 1) * 1e3 / per_second - now_ms();
  return next_ms < 0 ? 0 : next_ms;
}

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return left < right ? -1 : left > right;
}

static void print_percentiles(const char *name, struct samples samples) {
  static const double shares[] = {0.5, 0.9, 0.99, 0.999};
  static const char *names[] = {"p50", "p90", "p99", "p999"};
  qsort(samples.values, samples.count, sizeof *samples.values, ascending);
  printf("\"%s\":{", name);
  for (int i = 0; i < 4; i++) {
    size_t index = samples.count * shares[i];
    if (index >= samples.count) index = samples.count - 1;
    printf("%s\"%s\":%.4f", i ? "," : "", names[i], samples.count ? samples.values[index] : -1);
  }
  printf("},");
}

int main(int count, char **words) {
  if (count != 7) return 2;
  is_open = strcmp(words[1], "open") == 0;
  double value = atof(words[2]), length = atof(words[4]);
  int is_time = strcmp(words[3], "ms") == 0;
  port = atoi(words[5]);
  FILE *file = fopen(words[6], "rb");
  if (file == NULL) return 2;
  request = malloc(1 << 20);
  request_length = fread(request, 1, 1 << 20, file);
  fclose(file);
  signal(SIGPIPE, SIG_IGN);
  poller = epoll_create1(0);
  int connections = is_open ? (int)(value * EXPECTED_SECONDS + 1) : (int)value;
  for (int i = 0; i < connections && is_sending; i++) {
    struct connection *connection = open_connection();
    if (connection != NULL) idle[idle_count++] = connection;
  }
  started_ms = now_ms();
  if (!is_time) most_requests = length;
  else if (is_open) most_requests = value * length / 1e3;
  deadline_ms = is_time && !is_open ? started_ms + length : 0;
  while (!is_open && idle_count > 0) send_request(idle[--idle_count], started_ms);
  struct epoll_event ready[256];
  while (failure[0] == 0 && (in_flight > 0 || (is_open && is_sending))) {
    double wait_ms = is_open && is_sending ? send_due(value) : 100;
    struct timespec wait = {(time_t)(wait_ms / 1e3), (long)(wait_ms * 1e6) % 1000000000};
    int number = epoll_pwait2(poller, ready, 256, &wait, NULL);
    for (int i = 0; i < number; i++) receive(ready[i].data.ptr);
    if (deadline_ms > 0 && now_ms() >= deadline_ms) is_sending = 0;
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  double cpu = (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
  printf("{\"answers\":%zu,\"events\":%ld,\"seconds\":%.6f,", totals.count, line_feeds / 2,
         (last_answer_ms - started_ms) / 1e3);
  print_percentiles("firstByteMs", first_bytes);
  print_percentiles("totalMs", totals);
  printf("\"cpuMicroseconds\":%.0f,\"failure\":\"%s\"}\n", cpu, failure);
  return 0;
}

/** The link of the tests does to connections what a test asks of it, and nothing else. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { Link } from '../support/link.ts';
import { reset } from '../support/reset.ts';
import { until } from '../support/wait.ts';

interface Scope {
  after(cleanUp: () => void | Promise<void>): void;
}

/** A server behind a link. */
class Place {
  readonly link: Link;
  /** The server's end of each connection, in order. */
  readonly accepted: Received[];

  private constructor(link: Link, accepted: Received[]) {
    this.link = link;
    this.accepted = accepted;
  }

  static async open(scope: Scope): Promise<Place> {
    const accepted: Received[] = [];
    const server = createServer({ allowHalfOpen: true }, (socket) => accepted.push(new Received(socket)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const link = await Link.open((server.address() as AddressInfo).port);
    scope.after(async () => {
      await link.close();
      server.close();
    });
    return new Place(link, accepted);
  }

  /** A connection through the link, and the server's end of it. */
  async connect(): Promise<{ client: Received; server: Received }> {
    const number = this.accepted.length;
    const client = new Received(connect({ port: this.link.port, host: '127.0.0.1', allowHalfOpen: true }));
    await until(() => this.accepted.length > number);
    return { client, server: this.accepted[number] as Received };
  }
}

/** One end of a connection, and what has come in there. */
class Received {
  readonly socket: Socket;
  text = '';
  hasEnded = false;
  wasReset = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.text += bytes;
    });
    socket.on('end', () => {
      this.hasEnded = true;
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      this.wasReset = code === 'ECONNRESET';
    });
  }

  async has(text: string): Promise<void> {
    await until(() => this.text === text);
  }
}

test('a link passes bytes and ends both ways, in order, and counts', async (t) => {
  const place = await Place.open(t);
  const { link } = place;
  assert.equal(
    link.through('postgres://user:p%40ss@db.example:5432/x'),
    `postgres://user:p%40ss@db.example:${link.port}/x`,
  );
  const { client, server } = await place.connect();
  client.socket.write('to ');
  client.socket.end('server');
  await server.has('to server');
  await until(() => server.hasEnded);
  assert.equal(client.hasEnded, false);
  server.socket.end('to client');
  await client.has('to client');
  await until(() => client.hasEnded && link.open === 0);
  assert.deepEqual([link.opened, link.bytes('toServer'), link.bytes('toClient')], [1, 9, 9]);
});

test('a reset at one end is a reset at the other', async (t) => {
  const place = await Place.open(t);
  const { client, server } = await place.connect();
  reset(client.socket);
  await until(() => server.wasReset);
  assert.equal(place.link.open, 0);
});

test('what is delayed comes later, and never overtakes', async (t) => {
  const place = await Place.open(t);
  const { client, server } = await place.connect();
  place.link.delay('toServer', 60);
  const startMs = performance.now();
  client.socket.write('slow ');
  await until(() => place.link.bytes('toServer') === 5);
  place.link.delay('toServer', 0);
  client.socket.end('fast');
  server.socket.write('the other way');
  await client.has('the other way');
  await server.has('slow fast');
  // A timer can fire up to a millisecond early.
  assert.ok(performance.now() - startMs >= 59);
});

test('what is silenced vanishes: no byte, end or reset comes, and only later connections speak again', async (t) => {
  const place = await Place.open(t);
  const [lost, ended, kept] = [await place.connect(), await place.connect(), await place.connect()];
  place.link.silence(['toServer']);
  lost.client.socket.write('lost');
  reset(ended.client.socket);
  await until(() => place.link.bytes('toServer') === 4);
  lost.server.socket.write('the other way');
  await lost.client.has('the other way');
  place.link.pass();
  lost.client.socket.write('a stream with a hole');
  kept.client.socket.write('whole');
  await kept.server.has('whole');
  const later = await place.connect();
  later.client.socket.write('new');
  await later.server.has('new');
  assert.deepEqual([lost.server.text, ended.server.text], ['', '']);
  assert.deepEqual([ended.server.wasReset, ended.server.hasEnded], [false, false]);
});

test('what is held comes when the link passes again', async (t) => {
  const place = await Place.open(t);
  const { client, server } = await place.connect();
  place.link.hold();
  client.socket.end('late');
  server.socket.write('late, too');
  await until(() => place.link.bytes('toServer') === 4 && place.link.bytes('toClient') === 9);
  assert.deepEqual([server.text, client.text], ['', '']);
  place.link.pass();
  await server.has('late');
  await client.has('late, too');
  await until(() => server.hasEnded);
});

test('all connections can be cut, or the next one alone', async (t) => {
  const place = await Place.open(t);
  const { client, server } = await place.connect();
  place.link.cut();
  await until(() => client.wasReset && server.wasReset);
  place.link.cutNext();
  const next = new Received(connect(place.link.port, '127.0.0.1'));
  await until(() => next.wasReset);
  assert.equal(place.accepted.length, 1);
  const after = await place.connect();
  after.client.socket.write('whole');
  await after.server.has('whole');
  assert.equal(place.link.opened, 3);
});

test('one way of a connection can be ended alone', async (t) => {
  const place = await Place.open(t);
  const { client, server } = await place.connect();
  place.link.halfClose('toClient');
  await until(() => client.hasEnded);
  client.socket.write('still heard');
  await server.has('still heard');
  assert.equal(server.hasEnded, false);
});

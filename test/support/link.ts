/** A link between a gateway and its database that a test can slow down, silence, hold up and cut. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { reset } from './reset.ts';

export type Way = 'toServer' | 'toClient';

const WAYS = ['toServer', 'toClient'] as const;

/** How a link treats what is sent from now on, each way. */
type State = 'passing' | 'silent' | 'held';

interface Treatment {
  state: State;
  delayMs: number;
  /** What has arrived to be passed on, whatever became of it. */
  bytes: number;
}

export class Link {
  readonly #server: Server;
  #targetPort: number;
  readonly #connections = new Set<Connection>();
  readonly #ways: Readonly<Record<Way, Treatment>> = {
    toServer: { state: 'passing', delayMs: 0, bytes: 0 },
    toClient: { state: 'passing', delayMs: 0, bytes: 0 },
  };
  #cutsNext = false;
  /** How many connections clients have opened so far. */
  opened = 0;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  }

  /** Opens a link to a port of 127.0.0.1. */
  static async open(targetPort: number): Promise<Link> {
    const link = new Link(targetPort);
    await once(link.#server.listen(0, '127.0.0.1'), 'listening');
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that are opened from now on lead to another server. */
  lead(targetPort: number): void {
    this.#targetPort = targetPort;
  }

  /** The address of a database by way of this link. */
  through(url: string): string {
    const changed = new URL(url);
    changed.port = String(this.port);
    return changed.href;
  }

  /** How many connections are open. */
  get open(): number {
    return this.#connections.size;
  }

  /** How many bytes have come in to go this way, on all connections. */
  bytes(way: Way): number {
    return this.#ways[way].bytes;
  }

  /** What is sent from now on arrives so much later. */
  delay(way: Way, delayMs: number): void {
    this.#ways[way].delayMs = delayMs;
  }

  /**
   * What is sent from now on vanishes, the end of a connection too, and connections stay open. One
   * that has lost something stays silent; `pass` is for those that are opened later.
   */
  silence(ways: readonly Way[] = WAYS): void {
    this.#set(ways, 'silent');
  }

  /** What is sent from now on waits for `pass`, as on a link that is mended. */
  hold(ways: readonly Way[] = WAYS): void {
    this.#set(ways, 'held');
  }

  pass(): void {
    this.#set(WAYS, 'passing');
  }

  /** Resets all connections, at both ends. */
  cut(): void {
    for (const connection of this.#connections) connection.reset();
  }

  /** The next connection is reset when it is opened. */
  cutNext(): void {
    this.#cutsNext = true;
  }

  /** Sends one end of each connection the end of the stream, as the other end would. */
  halfClose(way: Way): void {
    for (const connection of this.#connections) connection.end(way);
  }

  /** Cuts what is open. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  #set(ways: readonly Way[], state: State): void {
    for (const way of ways) this.#ways[way].state = state;
    for (const connection of this.#connections) connection.onChange();
  }

  #accept(client: Socket): void {
    this.opened++;
    if (this.#cutsNext) {
      this.#cutsNext = false;
      reset(client);
      return;
    }
    const connection = new Connection(client, this.#targetPort, this.#ways, () => this.#connections.delete(connection));
    this.#connections.add(connection);
  }
}

/** A connection of a client, and the one to the server that belongs to it. */
class Connection {
  readonly #sockets: readonly Socket[];
  readonly #flows: Readonly<Record<Way, Flow>>;

  constructor(client: Socket, targetPort: number, ways: Readonly<Record<Way, Treatment>>, onClose: () => void) {
    const server = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    this.#sockets = [client, server];
    this.#flows = {
      toServer: new Flow(client, server, ways.toServer),
      toClient: new Flow(server, client, ways.toClient),
    };
    const watch = (socket: Socket, flow: Flow) => {
      socket.on('error', () => {});
      socket.once('close', (isReset) => {
        if (isReset && flow.canPass) this.reset();
        if (client.destroyed && server.destroyed) onClose();
      });
    };
    watch(client, this.#flows.toServer);
    watch(server, this.#flows.toClient);
  }

  reset(): void {
    for (const socket of this.#sockets) reset(socket);
  }

  end(way: Way): void {
    this.#flows[way].end();
  }

  onChange(): void {
    for (const way of WAYS) this.#flows[way].flush();
  }
}

/** One way of one connection. */
class Flow {
  readonly #to: Socket;
  readonly #way: Treatment;
  /** In order. Undefined is the end of the stream. Tests send little, so this is not bounded. */
  readonly #waiting: { readonly bytes: Buffer | undefined; readonly dueMs: number }[] = [];
  #isLost = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, way: Treatment) {
    this.#to = to;
    this.#way = way;
    from.on('data', (bytes: Buffer) => {
      way.bytes += bytes.length;
      this.#take(bytes);
    });
    from.once('end', () => this.#take(undefined));
  }

  /** False if the other end cannot learn of anything at the moment. */
  get canPass(): boolean {
    return this.#way.state === 'passing' && !this.#isLost;
  }

  end(): void {
    if (this.#to.writable) this.#to.end();
  }

  /** Passes on what is due. */
  flush(): void {
    if (!this.canPass) return;
    clearTimeout(this.#timer);
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const waitMs = next.dueMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.flush(), waitMs);
        return;
      }
      this.#waiting.shift();
      if (next.bytes === undefined) this.end();
      else if (this.#to.writable) this.#to.write(next.bytes);
    }
  }

  #take(bytes: Buffer | undefined): void {
    if (this.#way.state === 'silent') this.#isLost = true;
    if (this.#isLost) return;
    this.#waiting.push({ bytes, dueMs: performance.now() + this.#way.delayMs });
    this.flush();
  }
}

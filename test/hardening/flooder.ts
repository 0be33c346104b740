/**
 * A program that floods a port over many connections until it is ended, and prints a line once it has begun. Takes the name of
 * the flood, the port, and the number of connections.
 */
import { connect } from 'node:net';
import { FLOODS, pieceOf } from './floods.ts';

const [name, port, connections] = process.argv.slice(2);
const flood = FLOODS.find((each) => each.name === name);
if (flood === undefined) throw new Error(`no flood is called ${name}`);
/** More than the system buffers per connection, so most of the sending is done by the system. */
const PIECE_BYTES = 4 * 1024 * 1024;
const piece = pieceOf(flood, PIECE_BYTES);

function open(isFirst: boolean): void {
  // With half-open connections allowed it continues after the gateway has ended its half.
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  const send = (): void => {
    if (socket.writable) socket.write(piece, () => setImmediate(send));
  };
  socket.on('error', () => {});
  if (flood?.reconnects) {
    socket.once('data', () => socket.resetAndDestroy());
    socket.once('close', () => open(false));
  } else {
    socket.resume();
  }
  socket.write(flood?.head ?? '');
  send();
  if (isFirst) socket.once('connect', () => process.stdout.write('begun\n'));
}

for (let n = 0; n < Number(connections); n++) open(n === 0);

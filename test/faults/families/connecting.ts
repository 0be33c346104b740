/** Faults before a request is sent. */
import { type Family, unreached } from '../cell.ts';

export const CONNECTING: Family = {
  title: 'It cannot be reached',
  about:
    'No request was sent, so that nothing can have happened: it costs nothing, whether the client stays or leaves. The row is in the journal all the same.',
  faults: [
    unreached('refuses the connection', 'closed port', 'at once'),
    unreached('leaves the attempt to connect without an answer', 'blackhole', 'connect'),
    unreached('has a name that nobody knows', 'unknown name', 'at once'),
    unreached('has a certificate that has expired', 'expired certificate', 'at once'),
    unreached('has the certificate of another host', 'certificate of another host', 'at once'),
    unreached(
      'has a certificate of an authority that the system does not know',
      'certificate of an unknown authority',
      'at once',
    ),
    unreached('answers the TLS handshake with garbage', 'garbage in the handshake', 'at once'),
    unreached('falls silent in the TLS handshake', 'silence in the handshake', 'connect'),
    unreached('closes the connection in the TLS handshake', 'end in the handshake', 'at once'),
  ],
};

/** Failures before a request is sent. */
import { type Family, unreached } from '../cell.ts';

export const CONNECTING: Family = {
  title: 'It cannot be reached',
  about:
    'No request was sent, so the provider cannot have done any work: it costs nothing, whether the client stays or hangs up. The row is in the journal all the same.',
  faults: [
    unreached('refuses the connection', 'closed port', 'at once'),
    unreached('does not respond to the connection attempt', 'blackhole', 'connect'),
    unreached('has a host name that does not resolve', 'unknown name', 'at once'),
    unreached('has an expired certificate', 'expired certificate', 'at once'),
    unreached('has the certificate of another host', 'certificate of another host', 'at once'),
    unreached(
      'has a certificate from an authority that the system does not trust',
      'certificate of an unknown authority',
      'at once',
    ),
    unreached('answers the TLS handshake with garbage', 'garbage in the handshake', 'at once'),
    unreached('falls silent in the TLS handshake', 'silence in the handshake', 'connect'),
    unreached('closes the connection in the TLS handshake', 'end in the handshake', 'at once'),
  ],
};

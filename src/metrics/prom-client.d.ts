/** The part of prom-client that adds up and prints samples. All of it would bring what it measures with, four times the code. */
declare module 'prom-client/lib/cluster.js' {
  import { AggregatorRegistry } from 'prom-client';

  export default AggregatorRegistry;
}

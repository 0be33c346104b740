/** Types what the types of undici leave out: that its pool can be imported by itself. */
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}

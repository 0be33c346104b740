/** Which of the two HTTP servers the gateways of the tests have: the usual one, or with `--http node` of test/run.ts that of Node. */
export const TESTED_SERVER = process.env.INF_GW_TESTS_HTTP === 'node' ? 'node' : 'llhttp';

/** For configs in YAML. */
export const SERVER_LINE = `http: ${TESTED_SERVER}`;

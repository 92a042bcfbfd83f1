/** A variable that no process reads as a setting of its own: who reads it, and what it does. */
export interface ReadElsewhere {
  readonly variable: string;
  readonly readBy: string;
  readonly fallback: string;
  readonly meaning: string;
}

/** Every variable that is read outside the settings of a process. A test compares the list with the sources. */
export const READ_ELSEWHERE: readonly ReadElsewhere[] = [
  {
    variable: 'GATE_CACHE_DIR',
    readBy: 'gate start, gate doctor, the policy engine, npm run policies',
    fallback: '.cache/bin',
    meaning: 'Where programs that Gate builds or downloads are kept: the workflow engine, the policy compiler.',
  },
  {
    variable: 'GATE_TEMPORAL_BIN',
    readBy: 'gate start, gate doctor',
    fallback: 'PATH, then GATE_CACHE_DIR',
    meaning: 'The Temporal program. One that is named and does not work is an error, never passed over.',
  },
  {
    variable: 'GATE_OPA_BIN',
    readBy: 'the policy engine, npm run policies',
    fallback: 'PATH, then GATE_CACHE_DIR',
    meaning:
      'The OPA program, which compiles policies that operators write; calls are judged without it. Named and not working is an error here, too.',
  },
  { variable: 'PATH', readBy: 'gate start, gate doctor', fallback: 'none', meaning: 'Where both are looked for.' },
  {
    variable: 'GATE_TOKEN',
    readBy: 'docs/how-to/mcp-client.mjs, the agent SDK, gate mcp-bridge',
    fallback: 'none; of the SDK, the one of `GATE_LITE_TOKEN`',
    meaning: 'The access token with which an agent calls, such as `gate token` prints.',
  },
  {
    variable: 'GATE_ENDPOINT',
    readBy: 'the agent SDK, gate mcp-bridge',
    fallback: 'the address of `GATE_LITE_URL`',
    meaning: 'The address of the Gate that an agent asks, without `/mcp`.',
  },
  {
    variable: 'GATE_LITE_URL',
    readBy: 'commands that ask a running Gate',
    fallback: 'the running stack of this folder',
    meaning: 'The address of the lite process that is meant (`--endpoint`).',
  },
  {
    variable: 'XDG_CONFIG_HOME',
    readBy: 'gate login, and commands that act as who is signed in',
    fallback: '~/.config',
    meaning:
      'Where sign-ins at consoles are kept, below `gate/sign-in`; those of the stack of a folder are below its state folder.',
  },
  {
    variable: 'GATE_TRUSTED_LOGS',
    readBy: 'gate verify',
    fallback: 'none',
    meaning: 'A file with verifier keys of the logs that the reader trusts, one on each line (`--trusted-logs`).',
  },
  {
    variable: 'GATE_LITE_SIGNING_KEY_PATH',
    readBy: 'gate report',
    fallback: 'none',
    meaning: 'An Ed25519 key (PKCS #8 PEM) that signs the report (`--signing-key`).',
  },
  {
    variable: 'NO_COLOR',
    readBy: 'npm run demo',
    fallback: 'none',
    meaning: 'Set: the demonstration prints no colours.',
  },
  {
    variable: 'GATE_BENCH_DIR',
    readBy: 'npm run bench',
    fallback: 'the temporary folder',
    meaning: 'Where measurements keep their stores: on the disk that is to be measured.',
  },
  {
    variable: 'GATE_BENCH_PROFILE',
    readBy: 'npm run bench',
    fallback: 'none',
    meaning: 'A folder for a CPU profile of the process that is measured.',
  },
  {
    variable: 'GATE_HEALTHCHECK_URL',
    readBy: 'the container image',
    fallback: 'empty',
    meaning: 'The /health address of the process in the container; docker-compose.yml sets one for each.',
  },
  {
    variable: 'NODE_ENV',
    readBy: 'the container image',
    fallback: 'production',
    meaning: 'For packages; Gate does not read it.',
  },
  {
    variable: 'GATE_IMAGE',
    readBy: 'docker-compose.yml',
    fallback: 'gate:0.1.0',
    meaning: 'The image of every process.',
  },
  {
    variable: 'GATE_PUBLISH_ADDRESS',
    readBy: 'docker-compose.yml',
    fallback: '127.0.0.1',
    meaning: 'The address at which agents reach the proxy; 0.0.0.0 opens it to the network.',
  },
  { variable: 'GATE_PUBLISH_PORT', readBy: 'docker-compose.yml', fallback: '8443', meaning: 'The port of it.' },
  {
    variable: 'GATE_UPSTREAMS_FOLDER',
    readBy: 'docker-compose.yml',
    fallback: 'empty',
    meaning:
      'A folder with upstreams.json and the secrets that it names, for several upstreams (docs/how-to/several-upstreams.md). GATE_UPSTREAM_URL is then set empty.',
  },
  {
    variable: 'GATE_CONSOLE_PUBLISH_ADDRESS',
    readBy: 'docker-compose.yml',
    fallback: '127.0.0.1',
    meaning: 'The address at which browsers reach the console; with another one, set GATE_CONSOLE_URL to its name.',
  },
  {
    variable: 'GATE_CONSOLE_PUBLISH_PORT',
    readBy: 'docker-compose.yml',
    fallback: '8085',
    meaning: 'The port of it.',
  },
  {
    variable: 'GATE_IDENTITY_PUBLISH_ADDRESS',
    readBy: 'docker-compose.yml',
    fallback: '127.0.0.1',
    meaning: 'Address of this machine at which agents without a certificate reach identity.',
  },
  {
    variable: 'GATE_IDENTITY_PUBLISH_PORT',
    readBy: 'docker-compose.yml',
    fallback: '8086',
    meaning: 'The port of it.',
  },
  {
    variable: 'GATE_TEMPORAL_UI_PUBLISH_PORT',
    readBy: 'docker-compose.yml',
    fallback: '8233',
    meaning: 'The port of the engine’s pages, on loopback.',
  },
  ...(
    [
      ['POSTGRES_VERSION', '16'],
      ['TEMPORAL_VERSION', '1.31.0'],
      ['TEMPORAL_UI_VERSION', '2.49.1'],
    ] as const
  ).map(([variable, fallback]) => ({
    variable,
    readBy: 'docker-compose.yml',
    fallback,
    meaning: 'The tag of that image.',
  })),
  {
    variable: 'GATE_ENGINE_IMAGE',
    readBy: 'docker-compose.yml',
    fallback: 'gate-engine:0.1.0',
    meaning: 'The image of the workflow engine, built from deploy/temporal/server.',
  },
];

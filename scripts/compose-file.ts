import type { ServiceDeclaration } from '../api/plugins/declaration.js';
import { settingLines } from '../config/setting-lines.js';
import { MOUNTED_AT } from '../stack/certificates/deployment-files.js';
import { MADE_SETTINGS } from '../stack/certificates/made-secrets.js';
import { APART_SETTINGS, askedBy, defaultPort } from '../stack/process-settings.js';
import { commandOf, SERVICES } from '../stack/services.js';

/** Settings that whoever starts the containers may choose, and what they are otherwise. */
const CHOSEN: Readonly<Record<string, string>> = {
  // A token of GATE_HIL_OPERATORS signs in: for this machine alone, where the console is published to no other.
  GATE_CONSOLE_AUTH: 'operator-token',
  // For basic-admin; identity has to know it too, to say whether somebody else can confirm a release.
  GATE_CONSOLE_ADMIN_TENANT: 'acme',
  GATE_CONSOLE_URL: 'https://localhost:8085',
  GATE_DEPLOYMENT_TENANT: 'acme',
  GATE_MODE: 'enforce',
};

/** Where several upstreams stand in a container: the file, and the secrets that it names. */
const UPSTREAMS_AT = '/run/upstreams';
/** One upstream, or the folder of several. Set empty, the first one leaves its place to them (docs/how-to/several-upstreams.md). */
const TOOLS: Readonly<Record<string, string>> = {
  GATE_UPSTREAM_URL: '${GATE_UPSTREAM_URL-http://tools:9000/mcp}',
  GATE_UPSTREAMS: `\${GATE_UPSTREAMS_FOLDER:+${UPSTREAMS_AT}/upstreams.json}`,
};
const UPSTREAMS_MOUNT = `\${GATE_UPSTREAMS_FOLDER:-./deploy/upstreams}:${UPSTREAMS_AT}:ro`;

/**
 * docker-compose.yml with the parts that follow from the list of services: their containers, their volumes, the names in their
 * certificates. Each stands between `# printed: <part>` and `# end`; the rest of the file is left as it is.
 */
export function printedCompose(text: string): string {
  const parts: Readonly<Record<string, readonly string[]>> = {
    hosts: [`- --hosts=${[...SERVICES.filter((service) => defaultPort(service)), TEMPORAL].map(nameOf).join(',')}`],
    'certificate volumes': SERVICES.map(({ name }) => `- ${name}-files:/out/${name}`),
    services: SERVICES.flatMap(container),
    volumes: SERVICES.flatMap((service) => [
      `${service.name}-files: {}`,
      ...(keepsCertificate(service) ? [`${service.name}-certificate: {}`] : []),
    ]),
  };
  return Object.entries(parts).reduce((before, [part, lines]) => {
    const place = new RegExp(`^( *)# printed: ${part}$\\n[^]*?^ *# end$`, 'm');
    if (!place.test(before)) throw new Error(`docker-compose.yml has no part \`# printed: ${part}\``);
    return before.replace(place, (_whole, indent: string) =>
      [`# printed: ${part}`, ...lines, '# end'].map((line) => (line === '' ? '' : `${indent}${line}`)).join('\n'),
    );
  }, text);
}

/** Where a service keeps the certificate that it was given; who issues them gives itself one at each start. */
const CERTIFICATE_AT = '/state';
const keepsCertificate = ({ certifies }: ServiceDeclaration): boolean => !certifies;

const TEMPORAL = { name: 'temporal' } as const;
const nameOf = ({ name }: { readonly name: string }): string => name;

function container(service: (typeof SERVICES)[number]): readonly string[] {
  const { name, engine, stores, calledBy, certifies } = service;
  const variables = new Set(settingLines(APART_SETTINGS[name]).map(({ variable }) => variable));
  const reachesTools = variables.has('GATE_UPSTREAM_URL');
  const networks = [
    ...(calledBy === 'agents' || calledBy === 'people' || service.published ? ['edge'] : []),
    'services',
    ...(engine ? ['engine'] : []),
    ...(stores.length > 0 ? ['data'] : []),
    ...(reachesTools ? ['upstream'] : []),
  ];
  const jobs = [...(stores.length > 0 ? ['prepare-database'] : []), ...(engine ? ['prepare-engine'] : [])];
  return [
    `${name}:`,
    '  <<: *gate',
    `  command: [${commandOf(service).split(' ').join(', ')}]`,
    '  depends_on:',
    ...(jobs.length > 0 ? jobs : ['certificates']).map(
      (job) => `    ${job}: { condition: service_completed_successfully }`,
    ),
    // Whom identity asks has its certificate of identity.
    ...(certifies ? [] : askedBy(service)).map(
      ({ name: asked, dispensable }) => `    ${asked}: { condition: service_${dispensable ? 'started' : 'healthy'} }`,
    ),
    '  environment:',
    `    <<: ${engine ? '[*workload, *engine-client]' : '*workload'}`,
    ...environment(service, variables).map(([variable, value]) => `    ${variable}: ${value}`),
    `  volumes: [${[`${name}-files:${MOUNTED_AT}:ro`, ...(keepsCertificate(service) ? [`${name}-certificate:${CERTIFICATE_AT}`] : []), ...(reachesTools ? [UPSTREAMS_MOUNT] : [])].map((each) => `'${each}'`).join(', ')}]`,
    ...(calledBy === 'agents'
      ? [
          '  # The one public entry. 0.0.0.0 as GATE_PUBLISH_ADDRESS opens it to the network.',
          `  ports: ['\${GATE_PUBLISH_ADDRESS:-127.0.0.1}:\${GATE_PUBLISH_PORT:-8443}:${defaultPort(service)}']`,
        ]
      : []),
    ...(calledBy === 'people'
      ? [
          '  # For browsers. With another address than this machine, GATE_CONSOLE_URL must name it, and GATE_CONSOLE_AUTH should be another way to sign in.',
          `  ports: ['\${GATE_CONSOLE_PUBLISH_ADDRESS:-127.0.0.1}:\${GATE_CONSOLE_PUBLISH_PORT:-${defaultPort(service)}}:${defaultPort(service)}']`,
        ]
      : []),
    ...(service.published
      ? [
          '  # For agents that have no certificate yet, and whoever verifies one.',
          `  ports: ['\${${service.prefix}_PUBLISH_ADDRESS:-127.0.0.1}:\${${service.prefix}_PUBLISH_PORT:-${defaultPort(service)}}:${defaultPort(service)}']`,
        ]
      : []),
    `  networks: [${networks.join(', ')}]`,
    ...(service === SERVICES.at(-1) ? [] : ['']),
  ];
}

function environment(
  service: ServiceDeclaration & { readonly name: (typeof SERVICES)[number]['name'] },
  variables: ReadonlySet<string>,
): readonly (readonly [string, string])[] {
  const { prefix, stores, calledBy } = service;
  const made = MADE_SETTINGS.filter(({ variable }) => variables.has(variable));
  const health = settingLines(APART_SETTINGS[service.name]).find(
    ({ variable }) => variable === `${prefix}_HEALTH_PORT`,
  )?.default;
  return [
    ...(calledBy === 'probes' ? [] : [[`${prefix}_HOST`, '0.0.0.0'] as const]),
    ...askedBy(service).flatMap((neighbour) => {
      const port = defaultPort(neighbour);
      return port === null ? [] : [[`${neighbour.prefix}_URL`, `https://${neighbour.name}:${port}`] as const];
    }),
    ...Object.entries(CHOSEN).flatMap(([variable, otherwise]) =>
      variables.has(variable) ? [[variable, `\${${variable}:-${otherwise}}`] as const] : [],
    ),
    ...Object.entries(TOOLS).filter(([variable]) => variables.has(variable)),
    ...(keepsCertificate(service) ? [['GATE_WORKLOAD_STATE_DIR', `${CERTIFICATE_AT}/certificate`] as const] : []),
    ...(stores.length > 0 ? [['GATE_DATABASE_URL_FILE', `${MOUNTED_AT}/database-url`] as const] : []),
    // A secret is read from the file that `<variable>_FILE` names; a setting that is the path of a key says so itself.
    ...made.map(({ variable, file, path }) => [path ? variable : `${variable}_FILE`, `${MOUNTED_AT}/${file}`] as const),
    ['GATE_HEALTHCHECK_URL', `http://127.0.0.1:${health}/health`],
  ];
}

import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { SESSION_SECONDS } from '../contracts/console.js';
import { isLoopback } from '../domain/outbound/loopback.js';
import { type Config, csv, seconds, setting } from './env.js';
import { parseOperators, passkeyRequired, sessionKeyText } from './hil.js';
import { listenerSettings } from './listener.js';
import { parsedBy } from './shared.js';

/** Where people open the console. The review service makes links to it, and passkeys belong to it. */
export const consoleUrl = z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).optional();

/** The addresses of IPv4 within IPv6. */
const MAPPED = new BlockList();
MAPPED.addSubnet('::ffff:0:0', 96, 'ipv6');

/** An address, or a range that is not everybody. */
function isProxy(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/');
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  if (bits === 0 || more.length > 0) return false;
  if (prefix === undefined) return true;
  // `::ffff:0.0.0.0/96` is every IPv4 address.
  const shared = bits === 128 && MAPPED.check(address, 'ipv6') ? 96 : 0;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) >= shared + 8 && Number(prefix) <= bits;
}

export const CONSOLE_SETTINGS = {
  ...listenerSettings('GATE_CONSOLE', 'the console', { port: 8085, healthPort: 9085 }),
  host: setting(
    'GATE_CONSOLE_HOST',
    z.string().min(1).default('127.0.0.1'),
    'Address the console listens on for browsers: HTTPS, or on this machine alone HTTP where `gate start` runs it without a certificate of its own.',
  ),
  certFile: setting(
    'GATE_CONSOLE_CERT_FILE',
    z.string().min(1).optional(),
    'PEM of the certificate that browsers see. Without it a separate process shows its workload certificate, and `gate start` speaks HTTP on loopback.',
  ),
  keyFile: setting('GATE_CONSOLE_KEY_FILE', z.string().min(1).optional(), 'PEM of the private key to it.'),
  url: setting(
    'GATE_CONSOLE_URL',
    consoleUrl,
    'Where people open the console: forms from any other address are refused. Without it only loopback names are answered.',
  ),
  trustedProxies: setting(
    'GATE_CONSOLE_TRUSTED_PROXIES',
    csv.refine((proxies) => proxies.every(isProxy), 'must be addresses, or ranges of /8 and narrower'),
    'Reverse proxies in front of the console: addresses or ranges (10.0.0.5,10.1.0.0/16), whose X-Forwarded-For says who somebody is for the limit of failed sign-ins. Without it that header is ignored, and everybody behind a proxy is one address.',
  ),
  operators: setting(
    'GATE_HIL_OPERATORS',
    parsedBy(parseOperators).default([]),
    'Who may sign in by token: name@tenant:token[,…], as for decisions. `gate console` exchanges a token for a link that signs in once.',
    { secret: true },
  ),
  workflowPages: setting(
    'GATE_CONSOLE_WORKFLOW_PAGES_URL',
    z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).optional(),
    "Where the workflow engine lists runs, such as http://127.0.0.1:8234/namespaces/gate/workflows: a call's page then leads to its run. Without it there is no link.",
  ),
  passkeyRequired,
  sessionKey: setting(
    'GATE_CONSOLE_SESSION_KEY',
    sessionKeyText,
    'Key of what the console hands to browsers: 64 hex digits. Another key signs everybody out.',
    { secret: true },
  ),
  sessionSeconds: setting(
    'GATE_CONSOLE_SESSION_TTL_SECS',
    seconds(SESSION_SECONDS, 60, 604_800),
    'How long a browser stays signed in after its last request.',
  ),
} as const;
export type ConsoleConfig = Config<typeof CONSOLE_SETTINGS>;

/** One of two files would leave the listener without a certificate. */
export const certificateFault = ({ certFile, keyFile }: Pick<ConsoleConfig, 'certFile' | 'keyFile'>): string | null =>
  (certFile === undefined) === (keyFile === undefined)
    ? null
    : 'GATE_CONSOLE_CERT_FILE, GATE_CONSOLE_KEY_FILE: set both or none';

/** A wildcard or foreign address without a name would be reached under any name that a web page chooses. */
export const consoleAddressFault = ({ host, url }: Pick<ConsoleConfig, 'host' | 'url'>): string | null =>
  isLoopback(host) || url !== undefined
    ? null
    : `GATE_CONSOLE_HOST=${host} needs GATE_CONSOLE_URL: the address at which browsers open the console`;

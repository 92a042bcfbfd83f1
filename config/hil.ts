import { z } from 'zod';
import { LARGEST_REQUEST_BYTES, REHEARSAL_HOLDS_MS, REHEARSALS } from '../domain/review/backlog.js';
import { LINK_LIFE_SECONDS } from '../domain/review/decision-link.js';
import { PASSKEY_REQUIRED } from '../domain/review/passkey-required.js';
import { readConfig, seconds, setting, type Config, type Env } from './env.js';
import { listenerSettings } from './listener.js';
import { escalateShares, keyRingText, parsedBy, reviewLimits } from './shared.js';

/** An operator who may decide: a name for `decided_by`, one tenant, and the bearer token that proves both. */
export interface Operator {
  readonly name: string;
  readonly tenant: string;
  readonly token: string;
}

const OPERATOR = /^([A-Za-z0-9._-]{1,63})@([A-Za-z0-9._-]{1,63}):(\S+)$/;
const MIN_TOKEN_BYTES = 32;

const sameName = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** `name@tenant:token[,…]`. The error names the operator whose entry is wrong, never a token. */
export function parseOperators(text: string): readonly Operator[] {
  const operators = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry, index): Operator => {
      const match = OPERATOR.exec(entry);
      if (!match) throw new Error(`entry ${index + 1}: an operator is written name@tenant:token`);
      const [, name, tenant, token] = match as unknown as [string, string, string, string];
      if (Buffer.byteLength(token) < MIN_TOKEN_BYTES)
        throw new Error(`the token of ${name}@${tenant} is shorter than ${MIN_TOKEN_BYTES} bytes`);
      if (new Set(token).size < 8) throw new Error(`the token of ${name}@${tenant} is a placeholder`);
      return { name, tenant, token };
    });
  for (const [index, operator] of operators.entries()) {
    const earlier = operators.slice(0, index);
    // Two spellings of one name would be two of the people whom a strict call needs.
    if (earlier.some(({ name, tenant }) => sameName(name, operator.name) && tenant === operator.tenant))
      throw new Error(`${operator.name}@${operator.tenant} appears twice`);
    // With one token for two people it would be unknown who decided.
    if (earlier.some(({ token }) => token === operator.token))
      throw new Error(`${operator.name}@${operator.tenant} shares its token with another operator`);
  }
  return operators;
}

/** An agent that acts for a person, who therefore does not approve its calls. */
export interface AgentOwner {
  /** The person's name among the operators of the tenant, or how the console names somebody whom it vouches for (`oidc:<sub>`). */
  readonly operator: string;
  readonly tenant: string;
  readonly agent: string;
}

const OWNER =
  /^([A-Za-z0-9._-]{1,63}|(?:oidc|saml|basic|mtls|webauthn):[\x21-\x2b\x2d-\x7e]{1,765})@([A-Za-z0-9._-]{1,63}):([A-Za-z0-9._-]{1,63})$/;

/** As HIL takes his name from the console. */
const PERSON = /^(?:oidc|saml|basic|mtls|webauthn):[\x21-\x7e]{1,255}$/;
/** A provider may name people with the comma that separates entries, which then is written `%2C`, and a percent sign `%25`. */
const ESCAPES: Readonly<Record<string, string>> = { '%2c': ',', '%25': '%' };

function personOf(written: string): string {
  if (!written.includes(':')) return written;
  return written.replace(/%(?:[0-9A-Fa-f]{2})?/g, (escape) => {
    const meant = ESCAPES[escape.toLowerCase()];
    if (meant === undefined)
      throw new Error(`${written}: of escapes only %2C (a comma) and %25 (a percent sign) are known`);
    return meant;
  });
}

/** `operator@tenant:agent[,…]`; one person may have several agents, and one agent several people. */
export const parseAgentOwners = (text: string): readonly AgentOwner[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => {
      const [, operator, tenant, agent] = OWNER.exec(entry) ?? [];
      if (operator === undefined || tenant === undefined || agent === undefined)
        throw new Error(
          `${entry}: an owner of an agent is written operator@tenant:agent; a comma in a name as %2C, a percent sign as %25`,
        );
      const person = personOf(operator);
      if (person.includes(':') && !PERSON.test(person)) throw new Error(`${entry}: nobody has a name as long as that`);
      return { operator: person, tenant, agent };
    });

/** An owner whom a typing error makes somebody else could approve for his own agent. */
export function agentOwnersFault({ operators, agentOwners }: Pick<HilConfig, 'operators' | 'agentOwners'>) {
  const unknown = agentOwners.find(
    (owner) =>
      !owner.operator.includes(':') &&
      !operators.some(({ name, tenant }) => name === owner.operator && tenant === owner.tenant),
  );
  return unknown === undefined
    ? null
    : `GATE_HIL_AGENT_OWNERS: ${unknown.operator}@${unknown.tenant} is not among GATE_HIL_OPERATORS`;
}

/** Without the console's address no passkey belongs to anything, and every approval would be refused. */
export const passkeyFault = ({ passkeyRequired, consoleUrl }: Pick<HilConfig, 'passkeyRequired' | 'consoleUrl'>) =>
  passkeyRequired === 'none' || consoleUrl !== undefined
    ? null
    : `GATE_HIL_PASSKEY_REQUIRED=${passkeyRequired} needs GATE_CONSOLE_URL: passkeys belong to the address of the console`;

/** A file without its key, or the other way round. */
export const dispositionsFault = ({
  dispositionsFile,
  dispositionsKey,
}: Pick<HilConfig, 'dispositionsFile' | 'dispositionsKey'>) =>
  (dispositionsFile === undefined) === (dispositionsKey === undefined)
    ? null
    : 'GATE_HIL_DISPOSITIONS_FILE, GATE_HIL_DISPOSITIONS_KEY: set both or none';

/** The key's bytes. */
function sessionKeyOf(text: string): Buffer {
  if (!/^[0-9a-f]{64}$/i.test(text)) throw new Error('must be 64 hex digits');
  if (/^(..)\1{31}$/.test(text)) throw new Error('is a placeholder (one byte repeated)');
  return Buffer.from(text, 'hex');
}

/** The operators of each tenant; a proxy that knows none lets nobody class tools. */
export const proxyOperators = setting(
  'GATE_HIL_OPERATORS',
  parsedBy(parseOperators).optional(),
  'Who may class tools (`gate tools`), as for decisions: name@tenant:token[,…]. Without it nobody may.',
  { secret: true },
);

/** 32 bytes as 64 hex digits. */
export const sessionKeyText = parsedBy(sessionKeyOf);

export const passkeyRequired = setting(
  'GATE_HIL_PASSKEY_REQUIRED',
  z.enum(PASSKEY_REQUIRED).default('none'),
  "Which calls are approved only with a signature by their approver's passkey: none, strict (calls of tier strict), all; registered (every call, by whoever registered a passkey), strict-and-registered (both). Needs GATE_CONSOLE_URL.",
);
/** At least 32 bytes; neither a placeholder nor one character repeated. */
export const decideTokenText = z
  .string()
  .regex(/^\S+$/, 'must hold no spaces')
  .refine((text) => Buffer.byteLength(text) >= MIN_TOKEN_BYTES, `is shorter than ${MIN_TOKEN_BYTES} bytes`)
  .refine((text) => new Set(text).size >= 8, 'is a placeholder')
  .optional();

/** With one token for both it would be unknown whether an operator decides or the console vouches. */
export const decideTokenFault = ({ decideToken, operators }: Pick<HilConfig, 'decideToken' | 'operators'>) =>
  operators.some(({ token }) => token === decideToken)
    ? 'GATE_HIL_DECIDE_TOKEN is the token of one of GATE_HIL_OPERATORS'
    : null;

export const HIL_SETTINGS = {
  ...listenerSettings('GATE_HIL', 'the review service', { port: 8084, healthPort: 9084 }),
  payloadKeys: setting(
    'GATE_HIL_PAYLOAD_KEYS',
    keyRingText,
    'Keys that encrypt parked requests at rest: id:64hex[,id:64hex…]; the first seals, all open.',
    { secret: true },
  ),
  decisionKeyFile: setting(
    'GATE_HIL_DECISION_KEY_FILE',
    z.string().min(1),
    'PEM file of the Ed25519 key that signs decisions on their way to the workflow.',
  ),
  operators: setting(
    'GATE_HIL_OPERATORS',
    parsedBy(parseOperators),
    'Who may decide: name@tenant:token[,…]; tokens of at least 32 bytes. Whom the console vouches for decides as well (GATE_HIL_DECIDE_TOKEN).',
    { secret: true },
  ),
  decideToken: setting(
    'GATE_HIL_DECIDE_TOKEN',
    decideTokenText,
    'What proves that the console vouches for people who signed in by a provider (OpenID or SAML), a certificate or a password: at least 32 bytes, the same as at the console. Without it only operators by token and people with a passkey of their own decide.',
    { secret: true },
  ),
  bootstrapToken: setting(
    'GATE_HIL_BOOTSTRAP_TOKEN',
    decideTokenText,
    'Where people sign in at the console by a passkey alone: registers the first administrator, once for as long as the store lives. At least 32 bytes; take it out afterwards.',
    { secret: true },
  ),
  vouchedSeconds: setting(
    'GATE_HIL_VOUCHED_SECS',
    seconds(3_600, 60, 86_400),
    "How long the console's word about a person holds after the last request it made for him. A vote counts only while the word about its voter holds.",
  ),
  agentOwners: setting(
    'GATE_HIL_AGENT_OWNERS',
    parsedBy(parseAgentOwners).default([]),
    'Whose agents they are: operator@tenant:agent[,…]. In the name of somebody whom the console vouches for (oidc:…) a comma is written %2C and a percent sign %25. Nobody approves or changes a call of an agent of his own.',
  ),
  sessionKey: setting(
    'GATE_HIL_SESSION_KEY',
    sessionKeyText,
    'Key of what HIL hands to people: 64 hex digits. Links to decisions are derived from it; another key voids them.',
    { secret: true },
  ),
  consoleUrl: setting(
    'GATE_CONSOLE_URL',
    z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).optional(),
    'Where people open the console; links to decisions lead there. Without it links have no address.',
  ),
  passkeyRequired,
  decisionLinkSeconds: setting(
    'GATE_HIL_DECISION_LINK_TTL_SECS',
    seconds(3_600, LINK_LIFE_SECONDS.least, LINK_LIFE_SECONDS.most),
    'How long a link to a decision holds that asks for no other time. Links on cards hold until the deadline of their call.',
  ),
  maxRehearsals: setting(
    'GATE_HIL_MAX_REHEARSALS',
    z.coerce.number().int().min(1).max(10_000).default(REHEARSALS),
    `Reviews without a call that the simulator may have in its tenant: those that wait, and those that it opened within the last ${REHEARSAL_HOLDS_MS / 60_000} minutes; one more is answered 429. Their requests hold no more bytes than those of one agent.`,
  ),
  simulatorTenant: setting(
    'GATE_HIL_SIMULATOR_TENANT',
    z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,63}$/)
      .optional(),
    'The one tenant in which the simulator sees reviews and asks for some; without it the simulator is refused.',
  ),
  bodyLimitBytes: setting(
    'GATE_HIL_BODY_LIMIT_BYTES',
    z.coerce.number().int().min(1024).max(LARGEST_REQUEST_BYTES).default(2_097_152),
    'Largest body the review service reads; larger ones are 413.',
  ),
  decisionLifeSeconds: setting(
    'GATE_HIL_DECISION_LIFE_SECS',
    seconds(10, 1, 60),
    'How long a signed decision may take to reach its workflow before that refuses it.',
  ),
  quorumStrict: setting(
    'GATE_HIL_QUORUM_STRICT',
    z.coerce.number().int().min(2).max(16).default(2),
    'How many different people must approve a call of tier strict. A tenant with fewer operators is named at the start.',
  ),
  quorumRisky: setting(
    'GATE_HIL_QUORUM_RISKY',
    z.coerce.number().int().min(1).max(16).default(1),
    'How many different people at least must approve a call whose predicted effect is risky, whatever its tier. One without a report counts as the higher of this and the next. A call that needs several people cannot be changed by an approver; with more than 1 here or there, one that needs one person can, and is denied where the sandbox predicts that the changed call would need several.',
  ),
  quorumDestructive: setting(
    'GATE_HIL_QUORUM_DESTRUCTIVE',
    z.coerce.number().int().min(1).max(16).default(1),
    'How many different people at least must approve a call whose predicted effect is destructive, whatever its tier. A call that needs several people cannot be changed by an approver; with more than 1, one that needs one person can, and is denied where the sandbox predicts that the changed call would need several.',
  ),
  dispositionsFile: setting(
    'GATE_HIL_DISPOSITIONS_FILE',
    z.string().min(1).optional(),
    'File beside the store, and in no copy of it, that says which tenants have left and who was taken out: a store that was put back is brought to it before it is served. Needs GATE_HIL_DISPOSITIONS_KEY.',
  ),
  dispositionsKey: setting(
    'GATE_HIL_DISPOSITIONS_KEY',
    parsedBy(sessionKeyOf).optional(),
    'Key of that file: 64 hex digits, kept apart from the store and its copies.',
    { secret: true },
  ),
  retentionSweepSeconds: setting(
    'GATE_HIL_RETENTION_SWEEP_SECS',
    seconds(60, 1, 3_600),
    'How often the review service looks for requests and rows past their retention dates, and deletes them.',
  ),
  escalateShares,
  ...reviewLimits('GATE_REVIEW'),
} as const;
export type HilConfig = Config<typeof HIL_SETTINGS>;

/** The settings of the review service. Throws ConfigError with every fault at once. */
export const readHilConfig = (env: Env): HilConfig => readConfig('hil', HIL_SETTINGS, env);

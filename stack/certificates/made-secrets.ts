import { readFileSync } from 'node:fs';
import type { DevelopmentSecrets, DevPki } from './dev-pki.js';

/** What a development stack made for its processes. */
export type Made = DevelopmentSecrets & Pick<DevPki, 'sealedCaKey' | 'workloadsFile'>;

/** A setting that names a secret or key which development creates itself. */
interface MadeSetting {
  readonly variable: string;
  /** Its name in a container's folder. */
  readonly file: string;
  text(secrets: Made): string;
  /** Its path on this machine, for a setting that holds the path of a file. */
  path?(secrets: Made): string;
}

/** Every secret that development creates, listed once, for whichever process reads the setting. */
export const MADE_SETTINGS: readonly MadeSetting[] = [
  { variable: 'GATE_PAYLOAD_KEYS', file: 'payload-keys', text: ({ payloadKeys }) => payloadKeys },
  { variable: 'GATE_RECORD_KEYS', file: 'record-keys', text: ({ recordKeys }) => recordKeys },
  { variable: 'GATE_HIL_PAYLOAD_KEYS', file: 'hil-payload-keys', text: ({ hilPayloadKeys }) => hilPayloadKeys },
  { variable: 'GATE_LEDGER_SIDECAR_KEYS', file: 'sidecar-keys', text: ({ ledgerSidecarKeys }) => ledgerSidecarKeys },
  { variable: 'GATE_POLICY_STORE_KEYS', file: 'policy-store-keys', text: ({ policyStoreKeys }) => policyStoreKeys },
  { variable: 'GATE_CALLBACK_SECRET', file: 'callback-secret', text: ({ callbackSecret }) => callbackSecret },
  { variable: 'GATE_HIL_SESSION_KEY', file: 'hil-session-key', text: ({ hilSessionKey }) => hilSessionKey },
  { variable: 'GATE_HIL_DECIDE_TOKEN', file: 'hil-decide-token', text: ({ hilDecideToken }) => hilDecideToken },
  {
    variable: 'GATE_CONSOLE_SESSION_KEY',
    file: 'console-session-key',
    text: ({ consoleSessionKey }) => consoleSessionKey,
  },
  {
    variable: 'GATE_HIL_OPERATORS',
    file: 'hil-operators',
    text: ({ operatorToken, secondOperatorToken }) => `dev@acme:${operatorToken},second@acme:${secondOperatorToken}`,
  },
  {
    variable: 'GATE_SIGNING_KEY_FILE',
    file: 'signing.key',
    text: ({ ledgerKey }) => ledgerKey.key,
    path: ({ ledgerKey }) => ledgerKey.keyFile,
  },
  {
    variable: 'GATE_HIL_DECISION_KEY_FILE',
    file: 'hil-decision.key',
    text: ({ hilDecisionKey }) => hilDecisionKey.key,
    path: ({ hilDecisionKey }) => hilDecisionKey.keyFile,
  },
  {
    variable: 'GATE_HIL_DECISION_PUBLIC_KEY_FILE',
    file: 'hil-decision.pub',
    text: ({ hilDecisionKey }) => hilDecisionKey.pub,
    path: ({ hilDecisionKey }) => hilDecisionKey.pubFile,
  },
  {
    variable: 'GATE_LEDGER_CHECKPOINT_KEY_FILE',
    file: 'checkpoint.key',
    text: ({ checkpointKey }) => checkpointKey.key,
    path: ({ checkpointKey }) => checkpointKey.keyFile,
  },
  {
    variable: 'GATE_LEDGER_EXPORT_KEY_FILE',
    file: 'export.key',
    text: ({ exportKey }) => exportKey.key,
    path: ({ exportKey }) => exportKey.keyFile,
  },
  { variable: 'GATE_IDENTITY_KEYS', file: 'identity-keys', text: ({ identityKeys }) => identityKeys },
  {
    variable: 'GATE_IDENTITY_ADMIN_TOKEN',
    file: 'identity-admin-token',
    text: ({ identityAdminToken }) => identityAdminToken,
  },
  {
    variable: 'GATE_IDENTITY_CA_KEY_FILE',
    file: 'ca.key.sealed',
    text: ({ sealedCaKey }) => sealedCaKey.text,
    path: ({ sealedCaKey }) => sealedCaKey.file,
  },
  {
    variable: 'GATE_IDENTITY_WORKLOADS_FILE',
    file: 'workloads.json',
    text: ({ workloadsFile }) => readFileSync(workloadsFile, 'utf8'),
    path: ({ workloadsFile }) => workloadsFile,
  },
  {
    variable: 'GATE_IDENTITY_SIGNING_KEY_PATH',
    file: 'tokens.key.sealed',
    text: ({ identityTokenKey }) => identityTokenKey.text,
    path: ({ identityTokenKey }) => identityTokenKey.file,
  },
];

/** The settings as a process on this machine reads them. */
export const madeEnvironment = (secrets: Made): Readonly<Record<string, string>> =>
  Object.fromEntries(MADE_SETTINGS.map(({ variable, text, path }) => [variable, path ? path(secrets) : text(secrets)]));

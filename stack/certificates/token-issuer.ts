import { createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { PRIVATE_FILE, replaceFile } from '../../adapters/store/durable-file.js';
import { accessTokenSettings } from '../../config/access-tokens.js';
import type { Env } from '../../config/env.js';
import type { DevelopmentFile } from '../development-file.js';
import { withFileLock } from '../file-lock.js';
import { ensureSigningKey } from './dev-pki.js';

/** The issuer of access tokens of a development stack: what its proxy is set to, and what `gate token` signs with. */
export interface TokenIssuer {
  readonly settings: Env;
  readonly named: NonNullable<DevelopmentFile['token_issuer']>;
}

/**
 * An issuer whose key lies in `<stateDir>/keys`, for agents that cannot show a certificate (docs/architecture/identity-and-routes.md#development).
 * Its tokens name tenant and agent themselves, and nobody is asked for its keys. `null` where a setting says anything of an issuer: then
 * that one alone counts.
 */
export async function ensureTokenIssuer({
  stateDir,
  env,
}: {
  readonly stateDir: string;
  readonly env: Env;
}): Promise<TokenIssuer | null> {
  if (Object.values(accessTokenSettings('GATE_PROXY')).some(({ variable }) => env[variable])) return null;
  const path = join(stateDir, 'keys', 'token-issuer');
  const key = await withFileLock(join(stateDir, 'secrets', '.lock'), { timeoutMs: 30_000 }, () =>
    Promise.resolve(ensureSigningKey(path)),
  );
  const jwk = { ...createPublicKey(key.pub).export({ format: 'jwk' }), kid: key.keyId, alg: 'EdDSA', use: 'sig' };
  replaceFile(`${path}.jwks.json`, `${JSON.stringify({ keys: [jwk] })}\n`, PRIVATE_FILE);
  const origin = `https://localhost:${env.GATE_PROXY_PORT || '8443'}`;
  const named = { issuer: `${origin}/development`, audience: `${origin}/mcp`, key: key.keyFile, key_id: key.keyId };
  return {
    named,
    settings: {
      GATE_PROXY_OAUTH_ISSUER: named.issuer,
      GATE_PROXY_OAUTH_RESOURCE: named.audience,
      GATE_PROXY_OAUTH_JWKS_FILE: `${path}.jwks.json`,
      GATE_PROXY_OAUTH_TENANT_CLAIM: 'tenant',
      GATE_PROXY_OAUTH_AGENT_CLAIM: 'sub',
    },
  };
}

import type { Logger } from 'pino';
import type { SamlMemory } from '../../../adapters/console/saml-memory.js';
import type { ConsoleConfig } from '../../../config/console.js';
import { type SignInConfig, signInMode } from '../../../config/console-sign-in.js';
import type { Over } from '../../plugins/declaration.js';
import type { AskLimits } from '../ask-limits.js';
import { basicAdminMode } from './basic-admin.js';
import type { SignInMode } from './mode.js';
import { openOperatorMtlsMode } from './operator-mtls.js';
import { openOidcMode } from './oidc.js';
import { operatorTokenMode } from './operator-token.js';
import { passkeyMode } from './passkey.js';

export interface Choosing {
  readonly signIn: SignInConfig;
  readonly own: Pick<ConsoleConfig, 'operators' | 'url' | 'sessionKey' | 'sessionSeconds'>;
  /** Opened only where people sign in by SAML. */
  readonly samlMemory: () => Promise<SamlMemory>;
  /** Is told whether the console knows who its operators are, where they sign in with certificates. */
  readonly trusted: (isReady: boolean) => void;
  /** The review service, which keeps passkeys. */
  readonly hil: Promise<Over>;
  readonly limits: Pick<AskLimits, 'readMs' | 'ceremonyMs'>;
  readonly logger: Logger;
  readonly clock?: () => number;
}

/** The way to sign in that the settings name. Everything that it needs was checked before (`signInFaults`). */
export async function chooseSignIn({
  signIn,
  own,
  samlMemory,
  trusted,
  hil,
  limits,
  logger,
  clock = Date.now,
}: Choosing): Promise<SignInMode> {
  const { decideToken } = signIn;
  const mode = signInMode(signIn);
  if (mode === 'operator-token') return operatorTokenMode({ operators: own.operators, clock });
  if (mode === 'basic-admin')
    return basicAdminMode({
      user: given(signIn.adminUser),
      passwordHash: given(signIn.adminPassword),
      tenant: given(signIn.adminTenant),
      decideToken: given(decideToken),
    });
  if (mode === 'webauthn')
    return passkeyMode({ tenant: given(signIn.passkeyTenant), hil, key: own.sessionKey, clock, limits });
  if (mode === 'operator-mtls')
    return openOperatorMtlsMode({
      file: given(signIn.operatorsFile),
      decideToken: given(decideToken),
      trusted,
      logger,
      clock,
    });
  if (mode === 'saml') {
    const { openSamlMode } = await import('./saml/saml.js');
    return openSamlMode({
      entityId: given(signIn.samlEntityId),
      acsUrl: given(signIn.samlAcsUrl),
      metadataUrl: given(signIn.samlMetadataUrl),
      attributes: {
        tenant: given(signIn.samlTenantAttribute),
        groups: signIn.samlGroupAttributes,
        mfa: given(signIn.samlMfaAttribute),
      },
      rules: signIn,
      decideToken: given(decideToken),
      sessionMs: own.sessionSeconds * 1_000,
      memory: await samlMemory(),
      logger,
      clock,
    });
  }
  return openOidcMode({
    issuer: given(signIn.issuer),
    clientId: given(signIn.clientId),
    clientSecret: given(signIn.clientSecret),
    consoleUrl: given(own.url),
    claims: { tenant: signIn.tenantClaim, groups: signIn.groupsClaim, mfa: signIn.mfaClaim },
    rules: signIn,
    decideToken: given(decideToken),
    key: own.sessionKey,
    logger,
    clock,
  });
}

function given<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a setting of the sign-in is missing that was to be checked before');
  return value;
}

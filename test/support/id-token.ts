import type { OpenIdProvider } from './openid-provider.js';

interface Client {
  readonly id: string;
  readonly secret: string;
  readonly consoleUrl: string;
}

/** The ID token that the provider gives whoever is at its browser, by its own pages and a code. */
export async function idTokenOf(provider: OpenIdProvider, client: Client, nonce: string): Promise<string> {
  const back = `${client.consoleUrl}/auth/oidc/callback`;
  const verifier = 'v'.repeat(64);
  const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const asked = new URLSearchParams({
    client_id: client.id,
    redirect_uri: back,
    response_type: 'code',
    scope: 'openid',
    nonce,
    code_challenge: Buffer.from(challenge).toString('base64url'),
    code_challenge_method: 'S256',
  });
  const came = new URL(await provider.walk(`${provider.issuer}/auth?${asked.toString()}`, back));
  const answer = await fetch(`${provider.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: came.searchParams.get('code') ?? '',
      redirect_uri: back,
      code_verifier: verifier,
    }),
  });
  const { id_token: token } = (await answer.json()) as { id_token?: string };
  if (token === undefined) throw new Error(`the provider gave no ID token (${answer.status})`);
  return token;
}

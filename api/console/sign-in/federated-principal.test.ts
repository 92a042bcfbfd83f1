import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { federatedPrincipal } from './federated-principal.js';

type Of = Parameters<typeof federatedPrincipal>[0];
const { vectors } = JSON.parse(
  readFileSync(new URL('../../../test/vectors/federated-principal.json', import.meta.url), 'utf8'),
) as { readonly vectors: readonly (Of & { readonly principal: string })[] };

describe('the principal of somebody whom a provider proves', () => {
  it.each(vectors.map(({ principal, ...of }) => [principal, of] as const))('is %s', (principal, of) => {
    expect(federatedPrincipal(of)).toBe(principal);
  });

  it('is one person’s alone', () => {
    expect(new Set(vectors.map(federatedPrincipal)).size).toBe(vectors.length);
  });
});

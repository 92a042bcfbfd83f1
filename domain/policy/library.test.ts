import { describe, expect, it } from '@jest/globals';
import { opaCompiler } from '../../adapters/policy/opa-compiler.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { findOpa } from '../../stack/programs/find-program.js';
import { GateError } from '../errors.js';
import { createPolicyLibrary } from './library.js';
import type { PolicyStore } from './library-ports.js';
import { edited } from './sealed-policies.js';

const TEXT = `package gate.authz

import rego.v1

review contains "Review: above the limit." if input.arguments.amount > data.gate.limits.most
`;
const libraryOver = (fault: Error) => {
  const unused = () => Promise.reject(new Error('not asked here'));
  return createPolicyLibrary({
    store: { catalogue: () => Promise.reject(fault) } as unknown as PolicyStore,
    compiler: opaCompiler({
      find: () => findOpa({ onProgress: () => undefined }),
      directory: shippedPolicyDirectory(),
    }),
    templates: { parametersOf: async () => null },
    floor: { files: [], data: {} },
    prove: unused,
    changed: unused,
    distrusted: unused,
    clock: () => 0,
  });
};
const asked = { name: 'limits.rego', content_type: 'rego', body: TEXT } as const;

describe('a text that is checked', () => {
  it('is checked also while a policy is edited in the store, and says what is not known then', async () => {
    const { ok, warnings } = (await libraryOver(
      edited('the policy a.rego for everybody: its mac does not hold'),
    ).validate(asked)) as { ok: boolean; warnings?: readonly string[] };
    expect([ok, warnings]).toEqual([
      true,
      [
        'which documents it would read is not known: edited in the store: the policy a.rego for everybody: its mac does not hold',
      ],
    ]);
  });

  it('is not, where the store does not answer', async () => {
    const away = new GateError('store_unavailable', 'the policies: away');
    await expect(libraryOver(away).validate(asked)).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

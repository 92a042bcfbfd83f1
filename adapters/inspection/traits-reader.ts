import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTraitsReader, type TraitsReader } from '../../domain/inspection/behaviour/traits.js';
import { createNameReader } from '../../domain/money/money-names.js';
import { createMoneyReader } from '../../domain/money/read-money.js';
import { policyData } from '../../domain/policy/policy-data.js';
import { POLICY_LAYOUT, shippedPolicyDirectory } from '../policy/policy-sources.js';

/** With the lists of names that ship with Gate, as the sandbox has them: profiles of one version of Gate are made of the same amounts everywhere. */
export async function loadTraitsReader(): Promise<TraitsReader> {
  const text = await readFile(join(shippedPolicyDirectory(), POLICY_LAYOUT.data), 'utf8');
  const { money_arguments } = policyData.parse(JSON.parse(text)).gate;
  return createTraitsReader(createMoneyReader(createNameReader(money_arguments)));
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createNameReader } from '../../domain/money/money-names.js';
import { createMoneyReader } from '../../domain/money/read-money.js';
import { policyData } from '../../domain/policy/policy-data.js';
import { type Analyzer, createAnalyzer } from '../../domain/sandbox/analyze.js';
import { readersOf } from '../policy/argument-readers.js';
import { POLICY_LAYOUT, shippedPolicyDirectory } from '../policy/policy-sources.js';
import { loadSqlParser } from '../sql/parser.js';

/**
 * The analyzer with the lists that ship with Gate. An operator's own policies do not change a report: one version of Gate says the same of
 * a call everywhere.
 */
export async function loadAnalyzer(): Promise<Analyzer> {
  const text = await readFile(join(shippedPolicyDirectory(), POLICY_LAYOUT.data), 'utf8');
  const data = policyData.parse(JSON.parse(text));
  const { readSql, readShell } = await readersOf(data);
  const readName = createNameReader(data.gate.money_arguments);
  return createAnalyzer({
    readSql,
    readShell,
    readName,
    moneyIn: createMoneyReader(readName),
    parseSql: await loadSqlParser(),
    data: data.gate,
  });
}

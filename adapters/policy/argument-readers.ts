import { createNameReader } from '../../domain/money/money-names.js';
import { createMoneyFacts } from '../../domain/money/read-money.js';
import { createShellReader } from '../../domain/shell/read-shell.js';
import { loadSqlParser } from '../sql/parser.js';
import { createSqlReader } from '../../domain/sql/read-sql.js';
import type { PolicyData } from '../../domain/policy/policy-data.js';
import type { ArgumentReaders } from '../../domain/policy/policy-set.js';

export const readersOf = async ({ gate: { sql, money_arguments } }: PolicyData): Promise<ArgumentReaders> => ({
  readSql: createSqlReader({ parser: await loadSqlParser(), names: sql }),
  readShell: createShellReader(sql),
  readMoney: createMoneyFacts(createNameReader(money_arguments)),
});

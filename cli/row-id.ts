import { toolOf } from '../contracts/call-methods.js';
import type { PendingRequest } from '../contracts/review.js';
import { linear } from '../domain/expressions/linear.js';
import { oneLine } from '../domain/printable.js';
import { hasUuidForm } from '../domain/uuid.js';
import { CliError, NO_SUCH_THING } from './errors.js';
import { rowOfLite } from './lite-target.js';
import { gateCommand } from './output.js';
import type { ReviewTarget } from './review-target.js';
import { rowOfCall, rowOfStack } from './stack-target.js';

/** As much of an id as pages show, or more. */
const BEGINNING = linear('^[0-9a-f]{8}[0-9a-f-]{0,27}$');

/** Rows per request; a list does not say how many rows there are in all. */
const PAGE_ROWS = 200;

/** All rows of a list, page by page after the last one seen. */
export async function allRows(target: ReviewTarget, list: string, limit = Infinity): Promise<PendingRequest[]> {
  const rows: PendingRequest[] = [];
  for (;;) {
    const size = Math.min(PAGE_ROWS, limit - rows.length);
    const last = rows.at(-1);
    const behind = last ? `&before=${last.id}` : '';
    const page = await target.ask<PendingRequest[]>('hil', 'GET', `${list}&limit=${size}${behind}`);
    rows.push(...page);
    if (page.length < size || rows.length >= limit) return rows;
  }
}

/**
 * The id that is meant by a whole one, or by the beginning of one, as pages show it: of a row that waits, otherwise of one of the latest rows.
 * Of a call's own id, which its agent may choose, the whole is wanted: the row of the one that begins so is named. It is good for looking; a decision
 * takes the whole (`rowToDecide`). Throws CliError where none or several begin so.
 */
export async function wholeId(target: ReviewTarget, given: string): Promise<string> {
  const asked = given.toLowerCase();
  if (hasUuidForm(asked)) return asked;
  if (!BEGINNING.test(asked)) throw new CliError(`${given} is not an id; \`${gateCommand()} pending\` lists them`, 2);
  const waiting = await allRows(target, '/pending?status=pending&sort=oldest');
  const rows = waiting.some((row) => beginsSo(row, asked))
    ? waiting
    : await allRows(target, '/pending?status=all&sort=newest', PAGE_ROWS);
  const found = rows.filter((row) => beginsSo(row, asked));
  const [one, ...more] = found;
  if (one === undefined)
    throw new CliError(`no call begins with ${asked}; \`${gateCommand()} pending\` lists those that wait`, 4);
  if (more.length === 0 && one.id.startsWith(asked)) return one.id;
  if (more.length === 0)
    throw new CliError(
      `${asked} begins the id of this call; its row is ${one.id}: ${gateCommand()} pending ${one.id}\n${lineOf(one, one.id)}`,
      2,
    );
  const listed = found.map((row) => lineOf(row, row.id));
  throw new CliError(`${asked} does not say which is meant; give one of these whole:\n${listed.join('\n')}`, 2);
}

/** The whole row of an id: of a list each is in short. Throws CliError where there is none, with where to look. */
export async function wholeRow(target: ReviewTarget, id: string): Promise<PendingRequest> {
  try {
    return await (target.kind === 'lite' ? rowOfLite(target, id) : rowOfStack(target, id));
  } catch (error) {
    if (!(error instanceof CliError && error.exitCode === NO_SUCH_THING)) throw error;
    const gate = gateCommand();
    throw new CliError(
      `not_found: no review that you may see has the id ${id}, as its own or its call's; \`${gate} pending\` lists those that wait, and \`${gate} audit ${id}\` prints what is recorded of a call`,
      NO_SUCH_THING,
      error.code,
    );
  }
}

/** The row that is meant by an id, or by the beginning of one. */
export const rowMeant = async (target: ReviewTarget, given: string): Promise<PendingRequest> =>
  wholeRow(target, await wholeId(target, given));

/**
 * The row that a decision is about, by its whole id or its call's. Ids are digests of what agents choose, so one that begins like another is easily
 * made, and may wait in the place of the call that was looked at. Throws CliError for the beginning of an id, and for one that is of two calls: a
 * review without a call has an id that who asked for it chose.
 */
export async function rowToDecide(target: ReviewTarget, given: string): Promise<PendingRequest> {
  const asked = given.toLowerCase();
  if (!hasUuidForm(asked)) {
    if (!BEGINNING.test(asked)) throw new CliError(`${given} is not an id; \`${gateCommand()} pending\` lists them`, 2);
    const why = 'a decision is by the whole id, because others can make one that begins alike';
    throw new CliError(
      `${why}: \`${gateCommand()} pending ${asked}\` shows the call or names its row, and then the command to decide it`,
      2,
    );
  }
  const row = await wholeRow(target, asked);
  const other = row.id === asked && target.kind !== 'lite' ? await rowOfCall(target, asked) : null;
  if (other === null || other.id === row.id) return row;
  throw new CliError(
    `${asked} is the id of two calls, and nothing was decided; give the other id of the one that is meant:\n${lineOf(row, row.correlation_id)}\n${lineOf(other, other.id)}`,
    2,
  );
}

/** One of several rows that may be meant, with the id that says so. */
const lineOf = (row: PendingRequest, id: string): string =>
  `  ${id}  ${oneLine(`${toolOf(row)} for ${row.agent_id}, ${row.status}`)}`;

const beginsSo = (row: PendingRequest, asked: string): boolean =>
  row.id.startsWith(asked) || row.correlation_id.startsWith(asked);

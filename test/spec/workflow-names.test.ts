import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { CALLBACK } from '../../workflows/callback/messages.js';
import { EGRESS } from '../../workflows/egress/messages.js';
import { PROBE } from '../../workflows/probe/messages.js';
import { RECONCILE } from '../../workflows/reconcile/messages.js';
import { REVIEW } from '../../workflows/review/messages.js';
import { SETTLE_ROW } from '../../workflows/settle-row/messages.js';
import { TENANT_LIFECYCLE } from '../../workflows/tenant-lifecycle/messages.js';
import { FAILURES, TOOL_CALL } from '../../workflows/tool-call/messages.js';
import { WARM_UP } from '../../workflows/warm-up/messages.js';

const OWN = 'test/spec/workflow-names.test.ts';
const read = (file: string): string => readFileSync(join(PROJECT_ROOT, file), 'utf8');
/** Of Gate itself: what users put into their own workflows has names of its own. */
const files = execFileSync('git', ['ls-files', '*.ts', '*.tsx', '*.mjs', ':!sdks/'], {
  cwd: PROJECT_ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && file !== OWN && existsSync(join(PROJECT_ROOT, file)));
const isMessages = (file: string): boolean => file.endsWith('/messages.ts');
const ofTemporal = files.filter((file) => !isMessages(file) && read(file).includes("from '@temporalio/"));

const lines = (within: readonly string[], pattern: RegExp): string[] =>
  within.flatMap((file) =>
    [...read(file).matchAll(pattern)].map(
      ({ index, input }) => `${file}:${input.slice(0, index).split('\n').length}: ${input.slice(index).split('\n')[0]}`,
    ),
  );

/** Between a function's name and its first argument; type arguments may be there. */
const GIVEN = String.raw`(?:<[^()]*(?:\(\)[^()]*)*>)?\(\s*`;
const TEXT = '[\'"`]';

describe('names of workflows, their messages and their failures stand in messages.ts', () => {
  it('looks at every file that speaks to the engine', () => {
    expect(files.length).toBeGreaterThan(500);
    expect(ofTemporal.length).toBeGreaterThan(20);
  });

  it('each workflow is started under a name of its messages.ts, which is that of its code', () => {
    const exported = [...read('workflows/index.ts').matchAll(/export \{ (\w+) \} from '\.\/([\w-]+)\/workflow\.js'/g)];
    expect(exported.map(([, name]) => name)).toEqual([
      TOOL_CALL,
      REVIEW,
      CALLBACK,
      PROBE,
      TENANT_LIFECYCLE,
      EGRESS,
      RECONCILE,
      SETTLE_ROW,
      WARM_UP,
    ]);
    for (const [, , folder] of exported) expect(files).toContain(`workflows/${folder}/messages.ts`);
  });

  it('updates, signals and queries are defined there alone', () => {
    expect(
      lines(
        files.filter((file) => !isMessages(file)),
        /\bdefine(?:Update|Signal|Query)\b/g,
      ),
    ).toEqual([]);
  });

  it.each([
    [
      'updates',
      String.raw`\b(?:execute|start)Update(?:WithStart)?${GIVEN}${TEXT}`,
      `handle.executeUpdate<DecisionVerdict, [SignedDecision]>('decide', {`,
    ],
    [
      'signals and queries',
      String.raw`\.(?:signal|query)${GIVEN}${TEXT}`,
      `getHandle(id).query<StreamProgress>('progress')`,
    ],
    [
      'starts',
      String.raw`\b(?:WithStartWorkflowOperation|signalWithStart|workflow\.(?:start|execute))${GIVEN}${TEXT}`,
      `new WithStartWorkflowOperation<typeof bare>('bare', {`,
    ],
    [
      'children',
      String.raw`\b(?:start|execute)Child${GIVEN}${TEXT}`,
      `startChild<typeof callbackWorkflow>('callback', {`,
    ],
    [
      'types of workflows, in schedules and queries',
      String.raw`\b[wW]orkflowType(?::| =) ${TEXT}(?!\$\{)`,
      `query: "WorkflowType = 'reconcile' and`,
    ],
    [
      'types of failures that are read',
      String.raw`(?:\bcause\??\.type|failureType\(\w+\)) [!=]== ${TEXT}`,
      `if (failureType(error) === 'idempotency_conflict') {`,
    ],
    [
      'types of failures that are made',
      String.raw`ApplicationFailure\.\w+\([^;]*?,\s*${TEXT}\w+${TEXT}`,
      `ApplicationFailure.nonRetryable(reason, 'PipelineUnavailable', layer)`,
    ],
    [
      'types of failures that end retries',
      String.raw`\bnonRetryableErrorTypes: \[${TEXT}`,
      `nonRetryableErrorTypes: ['callback_not_allowed'],`,
    ],
  ])('nobody writes them out: %s', (_, pattern, written) => {
    expect(written).toMatch(new RegExp(pattern));
    expect(lines(ofTemporal, new RegExp(pattern, 'g'))).toEqual([]);
  });

  it('what can mean nothing else is written out nowhere, whatever it is used for', () => {
    const names = [TOOL_CALL, WARM_UP, FAILURES.conflict, FAILURES.unavailable].join('|');
    // The pipeline's own error has a class, and a class has a name.
    const elsewhere = new RegExp(String.raw`(?<!\bname(?: =|:) )(['"\`])(?:${names})\1`, 'g');
    expect(
      lines(
        files.filter((file) => !isMessages(file)),
        elsewhere,
      ),
    ).toEqual([]);
  });
});

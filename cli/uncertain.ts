import { type Command, Option } from 'commander';
import type { UncertainCall, UncertainDetail, UncertainList } from '../contracts/uncertain.js';
import { oneLine } from '../domain/printable.js';
import { CliError } from './errors.js';
import { type Asked, askProxy, withTarget } from './operators-command.js';
import { gateCommand, print } from './output.js';

const OUTCOMES = { ran: 'completed', 'not-run': 'not_run' } as const;

/** `gate uncertain`: the calls of which nobody knows whether their tool ran. */
export function registerUncertain(program: Command): void {
  const uncertain = program
    .command('uncertain')
    .description('list the calls of which nobody knows whether their tool ran; show the evidence, settle one');
  withTarget(uncertain.command('list', { isDefault: true }), 'calls')
    .description('newest first; a call that a probe still looks after is among them')
    .action(async ({ json: asJson, ...given }: Asked) => {
      const list = await askProxy<UncertainList>(given, 'GET', '/uncertain');
      if (asJson) return print(list);
      if (list.calls.length === 0) return void process.stdout.write('(no call is uncertain)\n');
      for (const call of list.calls) process.stdout.write(`${lineOf(call)}\n`);
      if (list.more) process.stdout.write('(there are more)\n');
      process.stdout.write(`\nthe evidence: ${gateCommand()} uncertain show <id>\n`);
    });

  withTarget(uncertain.command('show'), 'calls')
    .description('what was asked for, how its answer was lost, and what a probe saw since')
    .argument('<correlation id>')
    .action(async (id: string, { json: asJson, ...given }: Asked) => {
      const call = await askProxy<UncertainDetail>(given, 'GET', `/uncertain/${encodeURIComponent(id)}`);
      if (asJson) return print(call);
      show(call);
      if (call.state === 'uncertain')
        process.stdout.write(
          `\nonce you know: ${gateCommand()} uncertain settle ${call.correlation_id} ran|not-run --reason "…"\n`,
        );
    });

  withTarget(uncertain.command('settle'), 'calls')
    .description(
      'say whether the tool ran, and how you know; Gate executes nothing by it, and leaves a row in the ledger',
    )
    .argument('<correlation id>')
    .argument('<outcome>', Object.keys(OUTCOMES).join(' or '))
    .addOption(new Option('--reason <text>', 'how you know; recorded with it').makeOptionMandatory())
    .action(async (id: string, said: string, { reason, json: asJson, ...given }: Asked & { reason: string }) => {
      if (!Object.hasOwn(OUTCOMES, said)) throw new CliError(`an outcome is ran or not-run, not ${oneLine(said)}`, 2);
      const outcome = OUTCOMES[said as keyof typeof OUTCOMES];
      const call = await askProxy<UncertainDetail>(given, 'POST', `/uncertain/${encodeURIComponent(id)}/settle`, {
        outcome,
        reason,
      });
      if (asJson) return print(call);
      process.stdout.write(
        `${oneLine(call.tool)} ${WORDS[call.state] ?? call.state}, by ${oneLine(call.settled?.decided_by ?? '')}\n`,
      );
    });
}

const WORDS: Readonly<Record<string, string>> = {
  completed: 'ran: its caller is told so from now on',
  not_run: 'did not run: its caller may ask again under a new id',
  uncertain: 'may have run',
};
const WAITS: Readonly<Record<UncertainDetail['waits_for'], string>> = {
  probe: 'a probe looks again',
  person: 'waits for a person',
  nothing: 'settled',
};

const lineOf = (call: UncertainCall): string =>
  [
    call.correlation_id,
    oneLine(`${call.tenant}/${call.agent}`),
    oneLine(call.tool),
    `lost ${call.lost_at}`,
    `${call.looks} ${call.looks === 1 ? 'look' : 'looks'}`,
    WAITS[call.waits_for],
  ].join('  ');

function show(call: UncertainDetail): void {
  const lines = [
    `${call.correlation_id}  ${oneLine(`${call.tenant}/${call.agent}`)}`,
    `tool       ${oneLine(call.tool)} ${oneLine(JSON.stringify(call.arguments))}`,
    `lost       ${call.lost_at}  ${oneLine(call.why ?? '')}`,
    ...(call.idempotency_id === null ? [] : [`caller's id ${call.idempotency_id}`]),
    ...call.evidence.map(
      ({ at, probe, said, detail }) =>
        `look       ${at}  ${oneLine(probe)}: ${said.replaceAll('_', ' ')}${detail === null ? '' : ` (${oneLine(detail)})`}`,
    ),
    call.settled
      ? `settled    ${call.settled.at}  ${WORDS[call.state] ?? call.state}; by ${oneLine(call.settled.decided_by)}: ${oneLine(call.settled.reason)}`
      : `state      ${WORDS[call.state] ?? call.state}; ${WAITS[call.waits_for]}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

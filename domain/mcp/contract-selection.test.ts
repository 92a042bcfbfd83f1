import { describe, expect, it } from '@jest/globals';
import type { GateError } from '../errors.js';
import { selectContract, selectorOnControl, type SelectorHeaders } from './contract-selection.js';

const ID = '0190b8d0-1111-4222-8333-444455556666';
const NONE: SelectorHeaders = {
  decision: undefined,
  serverExecution: undefined,
  legacy: undefined,
  idempotencyId: undefined,
};
const refused = (headers: Partial<SelectorHeaders>): GateError => {
  try {
    selectContract({ ...NONE, ...headers });
  } catch (error) {
    return error as GateError;
  }
  throw new Error('was taken');
};

describe('contract selection', () => {
  it('is none without a header', () => {
    expect(selectContract(NONE)).toBeNull();
  });

  it('takes exactly one supported selector with a canonical id; the alias is never echoed', () => {
    for (const decision of ['gate.decision/v1', 'decision/v1'])
      expect(selectContract({ ...NONE, decision, idempotencyId: ID })).toEqual({
        contract: 'gate.decision/v1',
        idempotencyId: ID,
      });
    expect(selectContract({ ...NONE, serverExecution: 'gate.server-execution/v1', idempotencyId: ID })).toEqual({
      contract: 'gate.server-execution/v1',
      idempotencyId: ID,
    });
  });

  it.each<[Partial<SelectorHeaders>, string]>([
    [{ idempotencyId: ID }, 'decision_selector_invalid'],
    [{ legacy: 'x' }, 'decision_selector_invalid'],
    [{ legacy: '' }, 'decision_selector_invalid'],
    [{ legacy: 'gate.execution/v1', idempotencyId: ID }, 'decision_selector_invalid'],
    [{ decision: '' }, 'decision_selector_invalid'],
    [{ decision: 'gate.decision/v2', idempotencyId: ID }, 'decision_selector_invalid'],
    [{ decision: 'gate.server-execution/v1', idempotencyId: ID }, 'decision_selector_invalid'],
    [{ decision: 'gate.decision/v1, gate.decision/v1', idempotencyId: ID }, 'decision_selector_invalid'],
    [{ decision: 'gate.decision/v1' }, 'decision_selector_invalid'],
    [{ serverExecution: '' }, 'server_execution_selector_invalid'],
    [{ serverExecution: 'server-execution/v1', idempotencyId: ID }, 'server_execution_selector_invalid'],
    [{ serverExecution: 'gate.server-execution/v1' }, 'server_execution_selector_invalid'],
    [
      { decision: 'gate.decision/v1', serverExecution: 'gate.server-execution/v1', idempotencyId: ID },
      'server_execution_selector_conflict',
    ],
    [{ decision: '', serverExecution: '' }, 'server_execution_selector_conflict'],
    [{ legacy: 'x', decision: 'gate.decision/v1', idempotencyId: ID }, 'decision_selector_conflict'],
    [
      { legacy: 'x', serverExecution: 'gate.server-execution/v1', idempotencyId: ID },
      'server_execution_selector_conflict',
    ],
    [{ legacy: 'x', decision: 'y', serverExecution: 'z' }, 'server_execution_selector_conflict'],
  ])('refuses %j with %s', (headers, code) => {
    const error = refused(headers);
    expect(error).toMatchObject({ code, status: 400 });
    expect(error.fields).toEqual({
      contract: code.startsWith('decision') ? 'gate.decision/v1' : 'gate.server-execution/v1',
      executable: false,
    });
  });

  it.each([
    ID.toUpperCase(),
    ID.replaceAll('-', ''),
    `{${ID}}`,
    `urn:uuid:${ID}`,
    ` ${ID}`,
    `${ID}\n`,
    `${ID}, ${ID}`,
    ID.slice(1),
    `${ID}0`,
    '',
    'order-17',
  ])('refuses the id %j', (idempotencyId) => {
    expect(refused({ decision: 'gate.decision/v1', idempotencyId }).code).toBe('decision_selector_invalid');
    expect(refused({ serverExecution: 'gate.server-execution/v1', idempotencyId }).code).toBe(
      'server_execution_selector_invalid',
    );
  });

  it('names the contract that was meant where a selector stands on a control method', () => {
    expect(selectorOnControl({ contract: 'gate.decision/v1', idempotencyId: ID })).toMatchObject({
      code: 'decision_tool_required',
      fields: { contract: 'gate.decision/v1', executable: false },
    });
    expect(selectorOnControl({ contract: 'gate.server-execution/v1', idempotencyId: ID })).toMatchObject({
      code: 'server_execution_tool_required',
      fields: { contract: 'gate.server-execution/v1', executable: false },
    });
  });
});

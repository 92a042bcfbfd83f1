import { z } from 'zod';
import { DECISION_CONTRACT, SERVER_EXECUTION_CONTRACT } from '../../contracts/call.js';

const CALL_HEADERS = z.object({
  'X-Gate-Decision-Contract': z.literal(DECISION_CONTRACT).optional(),
  'X-Gate-Server-Execution-Contract': z.literal(SERVER_EXECUTION_CONTRACT).optional(),
  'X-Gate-Idempotency-Id': z.uuid().optional().describe('Names the call. Needed beside either contract.'),
  'X-Gate-Pending-Id': z.uuid().optional().describe('Of the 202 that a decision is resumed after, with the other.'),
  'X-Gate-Pending-Payload-Sha256': z.string().optional().describe('Of that 202 too.'),
  'X-Gate-Callback-Url': z.url().optional().describe('Is told what came of a call that waits for a person.'),
});

/** `POST /mcp` for its OpenAPI document: its bytes are judged as they came, so that no schema reads them (docs/architecture/requests-and-answers.md). */
export const MCP_DESCRIPTION = {
  summary: 'One JSON-RPC request of the Model Context Protocol.',
  headers: CALL_HEADERS,
  body: z.looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.number().int()]).optional(),
    method: z.string(),
    params: z.looseObject({}).optional(),
  }),
  response: {
    200: z.looseObject({}).describe('The answer of the tool, or the verdict.'),
    202: z.looseObject({}).describe('The call waits for a person.'),
    204: z.null().describe('A notification was passed on.'),
  },
};

/** `POST /tool/{name}`: one tool call, with its arguments as the body. */
export const TOOL_DESCRIPTION = {
  summary: 'One call of a tool. The body is its arguments.',
  headers: CALL_HEADERS,
  body: z.looseObject({}),
  response: {
    200: z.looseObject({}).describe('The answer of the tool, or the verdict.'),
    202: z.looseObject({}).describe('The call waits for a person.'),
  },
};

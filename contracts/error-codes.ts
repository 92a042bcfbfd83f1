/**
 * Every error code of Gate's answers, with its HTTP status and what the caller should do next. `retry` says whether the same request may be
 * sent again without a second effect (docs/architecture/requests-and-answers.md#retrying). `docs/reference/errors.md` lists the same table;
 * a test compares the two.
 */
export interface ErrorCode {
  readonly status: number;
  readonly retry: 'yes' | 'no' | 'after_wait';
  readonly meaning: string;
}

export const ERROR_CODES = {
  // Envelope and headers of the proxy.
  invalid_mcp: {
    status: 400,
    retry: 'no',
    meaning: 'The body is not one strict JSON-RPC 2.0 request; `detail` names the fault.',
  },
  unsupported_method: {
    status: 400,
    retry: 'no',
    meaning: 'The method is neither a tool call nor a control method Gate forwards.',
  },
  unjudged_field: {
    status: 400,
    retry: 'no',
    meaning:
      'The request has a member that Gate neither judges nor sends on, named by `field`; send the request without it.',
  },
  batch_too_large: {
    status: 400,
    retry: 'no',
    meaning:
      'The batch has more calls than the velocity limit or the burst ever lets through at once; send it in parts.',
  },
  decision_selector_invalid: {
    status: 400,
    retry: 'no',
    meaning: 'The decision contract header or the idempotency id is missing or malformed.',
  },
  decision_selector_conflict: { status: 400, retry: 'no', meaning: 'Send exactly one contract selector.' },
  decision_tool_required: {
    status: 400,
    retry: 'no',
    meaning: 'A contract selector belongs to a tool call, not to a control method.',
  },
  server_execution_selector_invalid: {
    status: 400,
    retry: 'no',
    meaning: 'The server-execution header or the idempotency id is missing or malformed.',
  },
  server_execution_selector_conflict: { status: 400, retry: 'no', meaning: 'Send exactly one contract selector.' },
  server_execution_tool_required: {
    status: 400,
    retry: 'no',
    meaning: 'A contract selector belongs to a tool call, not to a control method.',
  },
  decision_handle_unknown: {
    status: 409,
    retry: 'no',
    meaning:
      'The handle is not that of this call: send both pending headers as the 202 gave them, with the same body and id. Nothing was judged.',
  },
  certificate_required: {
    status: 403,
    retry: 'no',
    meaning:
      'A receipt is signed with the key of the certificate that the call came with; send it over a connection with that one.',
  },
  execution_receipt_invalid: {
    status: 400,
    retry: 'no',
    meaning: 'The receipt is not recorded, and `reasoning` says which part of it does not hold.',
  },
  execution_receipt_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'Another receipt of this call is recorded; it stays.',
  },
  callback_not_allowed: {
    status: 400,
    retry: 'no',
    meaning: 'The callback URL is malformed, not public, or not on the allowlist.',
  },
  unauthorized: {
    status: 401,
    retry: 'no',
    meaning:
      'Present the client certificate of an agent, signed by the trusted CA, or an access token of the configured issuer; in lite the bearer token of an agent.',
  },
  certificate_revoked: {
    status: 401,
    retry: 'no',
    meaning: 'The client certificate was taken back; nothing was executed. Get another one where agents are enrolled.',
  },
  certificate_superseded: {
    status: 401,
    retry: 'no',
    meaning: 'A newer certificate took the place of this one; nothing was executed. Call with the newer one.',
  },
  control_state_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'Which certificates and grants were taken back, and which agents are stopped, is not known at present, or how often a grant was used; so none is let in, and nothing was executed.',
  },
  agent_suspended: {
    status: 403,
    retry: 'no',
    meaning: 'An operator stopped this agent; nothing was executed. Two people lift that together.',
  },
  tool_suspended: {
    status: 403,
    retry: 'no',
    meaning:
      'An operator stopped this tool for everybody of the tenant; nothing was executed. Two people lift that together.',
  },
  tenant_suspended: {
    status: 403,
    retry: 'no',
    meaning: 'An operator stopped all of this tenant; nothing was executed. Two people lift that together.',
  },
  tenant_decommissioned: {
    status: 403,
    retry: 'no',
    meaning: 'This tenant was offboarded, for good; nothing was executed, and nothing of it is let in any more.',
  },
  agent_decommissioned: {
    status: 403,
    retry: 'no',
    meaning: 'This agent was ended for good; nothing was executed, and its name is never used again.',
  },
  token_invalid: {
    status: 401,
    retry: 'no',
    meaning: 'The access token does not hold, and `reasoning` says what; ask the issuer for another one.',
  },
  credentials_disagree: {
    status: 401,
    retry: 'no',
    meaning: 'Certificate and access token are not of one agent; send one of them, or both of the same.',
  },
  token_scope_insufficient: {
    status: 403,
    retry: 'no',
    meaning: 'The access token holds, but has not every scope that Gate asks for; ask the issuer for one that has.',
  },
  token_agent_unknown: {
    status: 403,
    retry: 'no',
    meaning:
      'The access token holds, but its claims name no tenant and agent here; an operator maps them (GATE_PROXY_OAUTH_*).',
  },
  token_keys_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning: "The issuer's keys cannot be had, so nothing can be said about the access token; nothing was executed.",
  },
  grant_invalid: {
    status: 403,
    retry: 'no',
    meaning:
      'What `X-Gate-Grant` holds is no grant of identity, or it is of another agent than the one that asks; nothing was executed.',
  },
  grant_expired: { status: 403, retry: 'no', meaning: 'The grant is over; nothing was executed. Ask for another one.' },
  grant_not_yet_valid: { status: 403, retry: 'no', meaning: 'The grant counts later (`nbf`); nothing was executed.' },
  grant_outside_schedule: {
    status: 403,
    retry: 'no',
    meaning: 'The grant does not count at this time of the week (`recurrence`); nothing was executed.',
  },
  grant_usage_exhausted: {
    status: 403,
    retry: 'no',
    meaning: 'The grant is used up, or a batch has more calls than are left of it; nothing was executed.',
  },
  grant_revoked: { status: 403, retry: 'no', meaning: 'The grant was taken back; nothing was executed.' },
  grant_required: {
    status: 403,
    retry: 'no',
    meaning:
      'This deployment takes no tool call without a grant (`GATE_PROXY_GRANTS`); nothing was executed. Ask for one by `POST /grant`.',
  },
  scope_outside_envelope: {
    status: 403,
    retry: 'no',
    meaning:
      'At a call: the grant does not cover its tool. At `POST /grant`: the agent’s envelope has no such scope. `offenders` are the scopes; nothing was executed or granted.',
  },
  grant_jwks_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning: 'The keys of identity cannot be had, so nothing can be said about the grant; nothing was executed.',
  },
  a2a_redeem_failed: {
    status: 403,
    retry: 'no',
    meaning:
      'The token of an agent of another Gate (`X-Gate-Actor-Token`) does not count: `redeem_error` is the code with which identity refused it. Nothing was executed; that Gate makes another one for each call.',
  },
  a2a_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'Identity cannot say whether the token of an agent of another Gate counts; nothing was executed, and the token may be used up.',
  },
  credential_not_judged: {
    status: 403,
    retry: 'no',
    meaning:
      'The call shows a credential that this Gate cannot judge (`header` names it); nothing was executed. Send it without.',
  },
  host_not_allowed: {
    status: 403,
    retry: 'no',
    meaning:
      'Gate is not called by this Host or from this Origin; list the name in GATE_LITE_ALLOWED_HOSTS, or name it in GATE_PROXY_PUBLIC_URL.',
  },
  method_not_allowed: {
    status: 405,
    retry: 'no',
    meaning: 'Without a session this address takes POST only; `initialize` opens one.',
  },
  session_not_found: {
    status: 404,
    retry: 'no',
    meaning:
      'This agent has no such MCP session: it was ended, is too old, or is not its own. Send `initialize` again.',
  },
  task_not_found: {
    status: 404,
    retry: 'no',
    meaning: 'This agent has no such task: it is too old, is not its own, or never was.',
  },
  task_not_cancellable: {
    status: 409,
    retry: 'no',
    meaning: 'Only a call that waits for a person can be withdrawn: this one is over, or may already be at its tool.',
  },
  client_capability_missing: {
    status: 400,
    retry: 'no',
    meaning:
      'Only a client that declares the capability in this request may ask this; `requiredCapabilities` names it.',
  },
  mcp_header_mismatch: {
    status: 400,
    retry: 'no',
    meaning: 'A header that repeats what the body of an MCP request says is missing, or says something else.',
  },
  request_state_invalid: {
    status: 400,
    retry: 'no',
    meaning:
      'The `requestState` is not one that this agent was given, or is too old. What came of its call is at `GET /pending/{correlation_id}`.',
  },
  request_state_mismatch: {
    status: 400,
    retry: 'no',
    meaning:
      'The `requestState` belongs to a request with another method, name or arguments: send that one again, with nothing in it changed.',
  },
  mcp_envelope_invalid: {
    status: 400,
    retry: 'no',
    meaning:
      'A request of the revision without sessions must say its revision and what its client can in `params._meta`; `subscriptions/listen` says what it wants to hear of in `params.notifications`.',
  },
  protocol_version_unsupported: {
    status: 400,
    retry: 'no',
    meaning: 'Gate does not speak the revision of MCP that MCP-Protocol-Version names.',
  },
  request_timeout: {
    status: 408,
    retry: 'yes',
    meaning: 'The request did not arrive whole in time; nothing was executed.',
  },
  uri_too_long: {
    status: 414,
    retry: 'no',
    meaning: 'A part of the path is longer than any id; nothing was looked up.',
  },
  request_headers_too_large: {
    status: 431,
    retry: 'no',
    meaning: 'The headers are larger than 16 KiB, or more than 200.',
  },
  request_too_large: { status: 413, retry: 'no', meaning: 'The body is larger than 1,048,576 bytes.' },
  client_contract_required: {
    status: 426,
    retry: 'no',
    meaning: 'A tool call must select a contract; `supported_selectors` lists them.',
  },
  rate_limited: { status: 429, retry: 'after_wait', meaning: 'Wait `retry_after_secs` seconds.' },
  review_backlog_full: {
    status: 429,
    retry: 'after_wait',
    meaning:
      'This agent has as many calls, or bytes, waiting for a decision as it may, or its tenant as many reviews without a call (`scope` says which); nothing was executed. Ask again when some are decided, or tell the operator.',
  },
  quota_exceeded: {
    status: 429,
    retry: 'after_wait',
    meaning:
      'The budget of the tenant or of the agent (`scope` says which) is spent for this month, or does not bear what the call may cost beside the calls that are under way; nothing was paid for or kept. Wait `retry_after_secs` seconds, or tell the operator.',
  },
  // Verdicts.
  policy_denied: { status: 403, retry: 'no', meaning: 'Inspection or policy refused the call; `reasons` says why.' },
  review_denied: { status: 403, retry: 'no', meaning: 'An operator denied the call.' },
  review_expired: { status: 403, retry: 'no', meaning: 'Nobody decided in time; nothing was executed.' },
  call_withdrawn: {
    status: 403,
    retry: 'no',
    meaning: 'The agent withdrew the call while it waited; nothing was executed.',
  },
  // Idempotency and execution.
  decision_idempotency_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'This idempotency id is bound to another request.',
  },
  server_execution_idempotency_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'This idempotency id is bound to another request.',
  },
  server_execution_uncertain: {
    status: 409,
    retry: 'no',
    meaning: 'The tool may or may not have run; Gate will never run it again under this id.',
  },
  reconciled_not_run: {
    status: 409,
    retry: 'no',
    meaning:
      'The answer of the attempt was lost, and a probe or a person established afterwards that the tool did not run; use a new idempotency id.',
  },
  not_uncertain: {
    status: 409,
    retry: 'no',
    meaning: 'The outcome of this call is known (`state`); there is nothing to settle.',
  },
  call_aborted: {
    status: 503,
    retry: 'no',
    meaning: 'The call was closed by reconciliation without an effect; use a new idempotency id.',
  },
  call_abandoned: {
    status: 503,
    retry: 'no',
    meaning: 'The call was not started in time and nothing was executed; use a new idempotency id.',
  },
  attempt_not_begun: {
    status: 503,
    retry: 'no',
    meaning:
      'The engine lost the call before its attempt began: nothing was sent and nothing was executed; use a new idempotency id.',
  },
  call_tampered: {
    status: 409,
    retry: 'no',
    meaning:
      'The stored record of this call is not what Gate wrote; nothing more is executed under this id, and what happened before is in the ledger.',
  },
  authorization_expired: {
    status: 410,
    retry: 'no',
    meaning: 'The decision stood too long ago to be acted upon (`exp`); ask anew under a new idempotency id.',
  },
  pins_changed_meanwhile: {
    status: 409,
    retry: 'no',
    meaning: "What the agent's tools say is no longer what was shown; nothing was accepted. Look at what differs now.",
  },
  pins_tampered: {
    status: 409,
    retry: 'no',
    meaning:
      "Somebody other than Gate wrote the pins of this agent's tools; nothing is accepted over them, let them go.",
  },
  call_purged: {
    status: 410,
    retry: 'no',
    meaning:
      'This idempotency id had its call, whose record is gone: past its retention, or taken away. Nothing is executed under it again; use a new id.',
  },
  upstream_unreachable: {
    status: 502,
    retry: 'no',
    meaning:
      'The upstream took no connection, or opened no session, so the request was not sent; nothing was executed.',
  },
  upstream_invalid_response: {
    status: 502,
    retry: 'no',
    meaning: 'The upstream answered a control method with something that is not MCP.',
  },
  tool_classes_unreadable: {
    status: 503,
    retry: 'no',
    meaning:
      'The classes of the tools were changed outside Gate, are older than the ledger says, or are of another key; every tool waits. Put the store back, or begin anew: `gate tools forget --all`.',
  },
  tool_class_outdated: {
    status: 409,
    retry: 'no',
    meaning:
      'Agents are shown another definition of the tool than the one that was looked at; look again, then class it.',
  },
  tool_not_listed: {
    status: 404,
    retry: 'no',
    meaning:
      'No list of the upstream has shown a tool of that name; `did_you_mean` names the nearest. `unlisted` (`gate tools set --unlisted`) classes it all the same.',
  },
  tool_classes_busy: {
    status: 409,
    retry: 'yes',
    meaning: 'Somebody else classed a tool at the same moment; nothing was changed.',
  },
  egress_blocked: {
    status: 403,
    retry: 'no',
    meaning:
      'The tool ran, and policy withholds what it answered. Asking again for the same call gives this answer; a new call would run the tool again.',
  },
  tool_definition_poisoned: {
    status: 502,
    retry: 'no',
    meaning:
      'The definitions of the tools changed since they were pinned, or instruct a model; the operator looks at them and accepts them.',
  },
  tool_unknown: {
    status: 404,
    retry: 'no',
    meaning:
      'No upstream has the prefix of this name, so nothing was judged or executed; names are as `tools/list` shows them.',
  },
  tool_quarantined: {
    status: 403,
    retry: 'no',
    meaning:
      'The definition of the tool is new, changed or instructs a model, and waits for an operator to accept it (`gate pins diff`); nothing was executed.',
  },
  tool_definition_changed: {
    status: 403,
    retry: 'no',
    meaning:
      'An operator approved the call, and the definition of the tool is not the one it was reviewed under, or belongs to another upstream, or cannot be compared; nothing was executed.',
  },
  policy_changed: {
    status: 403,
    retry: 'no',
    meaning:
      'An operator approved the call under earlier rules, and those of now deny it or ask for more people; nothing was executed.',
  },
  budget_changed: {
    status: 403,
    retry: 'no',
    meaning:
      'An operator approved the call, and the budget of its tenant or agent was lowered since and does not bear it; nothing was executed.',
  },
  agent_standing_changed: {
    status: 403,
    retry: 'no',
    meaning:
      'The agent was taken out of those that may call after it had asked for the call, or its tenant was offboarded; nothing was executed.',
  },
  upstream_timeout: { status: 504, retry: 'no', meaning: 'The upstream did not answer a control method in time.' },
  upstream_not_configured: {
    status: 503,
    retry: 'no',
    meaning: 'No upstream is configured; set GATE_UPSTREAM_URL, in lite --upstream.',
  },
  // Dependencies.
  pipeline_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'A part named by `layer` is down or lost the call on its way. Ask again under the same id, which runs at most once; where it then is `call_abandoned` or `attempt_not_begun`, nothing was executed and a new id is needed.',
  },
  store_unavailable: { status: 503, retry: 'after_wait', meaning: 'The store of this service cannot be reached.' },
  ledger_store_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning: 'The ledger store cannot be read or written.',
  },
  report_too_large: {
    status: 413,
    retry: 'no',
    meaning:
      'What was asked for would take more memory than reports may have; nothing else stopped. Ask for a narrower window, one tenant or one agent.',
  },
  signing_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning: 'The key that would sign this is not configured or cannot be reached; nothing unsigned leaves.',
  },
  chain_verification_incomplete: {
    status: 503,
    retry: 'after_wait',
    meaning: 'The chain does not verify as a whole, so nothing is signed over it; see GET /verify.',
  },
  window_vacuumed: {
    status: 410,
    retry: 'no',
    meaning:
      'Rows of the window were vacuumed and are in the cold tier only; begin the window behind them (`kept_from_seq`), or read the files.',
  },
  export_sink_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'No place for exports is configured, or it cannot be read or written, or is that of another ledger; nothing was exported.',
  },
  checkpoint_inconsistent: {
    status: 503,
    retry: 'no',
    meaning: 'The ledger is not the one that was signed before: entries were changed or cut off; nothing is signed.',
  },
  provider_unavailable: { status: 503, retry: 'after_wait', meaning: 'The inspection provider is unavailable.' },
  console_neighbour_away: {
    status: 503,
    retry: 'after_wait',
    meaning: 'A service that the console asks does not answer; the page says which.',
  },
  chain_walk_under_way: {
    status: 409,
    retry: 'after_wait',
    meaning: 'The first walk over the chain goes on, so nothing is known of it yet: ask again in `retry_after_secs`.',
  },
  sign_in_busy: {
    status: 503,
    retry: 'after_wait',
    meaning: 'Sign-ins before this one take too long, and nothing of it was looked at: begin it again in a moment.',
  },
  csrf_failed: {
    status: 403,
    retry: 'no',
    meaning: 'The form is not from a page of this console and this session: load the page again. Nothing was done.',
  },
  role_too_low: {
    status: 403,
    retry: 'no',
    meaning:
      'What was asked for needs a higher role than the person who is signed in has; `required` names it. Nothing was done.',
  },
  // Sign-in of the command line, in the words of RFC 8628 and RFC 6749.
  authorization_pending: {
    status: 400,
    retry: 'after_wait',
    meaning: 'Nobody has agreed at the console yet: ask again after `interval` seconds.',
  },
  slow_down: {
    status: 400,
    retry: 'after_wait',
    meaning: 'This was asked too early: wait five seconds longer between two questions from now on.',
  },
  access_denied: {
    status: 400,
    retry: 'no',
    meaning: 'The person refused, or is not signed in at the console any more; `gate login` begins again.',
  },
  expired_token: {
    status: 400,
    retry: 'no',
    meaning: 'Nobody agreed within the time of the code; `gate login` begins again.',
  },
  invalid_grant: {
    status: 400,
    retry: 'no',
    meaning: 'No such code is known, or it was used before. A token that it gave has ended; `gate login` begins again.',
  },
  invalid_client: {
    status: 401,
    retry: 'no',
    meaning:
      'At the console: the one client is `gate-operator-cli`, without a secret. At `POST /token`: an agent asks, by its current certificate.',
  },
  invalid_scope: {
    status: 400,
    retry: 'no',
    meaning:
      'At the console: the one scope is `gate.operator`. At `POST /token`: the agent’s envelope has no such scope, or it is not written as one; nothing was granted.',
  },
  invalid_target: {
    status: 400,
    retry: 'no',
    meaning: 'A grant is for the proxies of this Gate: leave `resource` and `audience` out.',
  },
  unauthorized_client: {
    status: 400,
    retry: 'no',
    meaning:
      'Nothing is delegated to this agent: it is not registered, or stopped, or nobody may delegate here (`refused_for`).',
  },
  unsupported_grant_type: {
    status: 400,
    retry: 'no',
    meaning:
      'The one grant of the console is `urn:ietf:params:oauth:grant-type:device_code`, that of `POST /token` `urn:ietf:params:oauth:grant-type:token-exchange`.',
  },
  policy_unavailable: { status: 503, retry: 'after_wait', meaning: 'No policy set is loaded.' },
  policy_invalid: {
    status: 400,
    retry: 'no',
    meaning:
      'The policy does not compile, or cannot judge an ordinary call or not in its time; `message`, `line` and `column` say where and why. What was in force still is.',
  },
  policy_protected: {
    status: 409,
    retry: 'no',
    meaning: 'The policy is one of the rules that ship, which nobody changes here; add one of another name.',
  },
  policy_exists: {
    status: 409,
    retry: 'no',
    meaning: 'There is a policy of this name already, or the template is in force.',
  },
  version_conflict: {
    status: 409,
    retry: 'no',
    meaning:
      'The policy has another version by now; `policy` is what it is. Look at it, then send the change again with that version.',
  },
  policy_lab_busy: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'Others try rules on recorded traffic already, as many as may at once; ask again when one of them is done.',
  },
  suggestion_withdrawn: {
    status: 409,
    retry: 'no',
    meaning:
      'Since the rule was mined, somebody denied a call that it would let pass, or approved it with other arguments only; `reason` says which. Mine again.',
  },
  bundle_gone: {
    status: 409,
    retry: 'no',
    meaning:
      'The rules that the call was judged by are not here any more: the rules that ship were others then, or the store does not have that set. Judging it by the rules of now is another question (`POST /policies/explain`, `POST /evaluate`).',
  },
  policy_tampered: {
    status: 409,
    retry: 'no',
    meaning:
      'The stored policies are not what Gate put there: somebody edited the store. Nothing is changed, judged or derived again by them; `reason` names the row. Put the store back, or of a tenant\u2019s own set change one of its policies (docs/architecture/policies.md).',
  },
  policy_compiler_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'The OPA compiler or the folder for its files is not here, something ended it, or too many policies wait for it; nothing was changed.',
  },
  sandbox_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning: 'The sandbox has no report in time. A call that waits for review has none then, and waits all the same.',
  },
  orchestrator_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'The workflow engine did not answer in time. The decision may still take effect for some seconds: look at the row, and send it again while it waits.',
  },
  decision_not_sent: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'So many decisions are under way that the turn of this one did not come, a store did not answer in its turn, or the service is stopping; nothing was decided. Send it again.',
  },
  // Internal services.
  invalid_request: {
    status: 400,
    retry: 'no',
    meaning: 'The request does not have the documented shape; `detail` names the field.',
  },
  policy_input_invalid: {
    status: 400,
    retry: 'no',
    meaning: 'The policy input misses a required field or has one of the wrong type.',
  },
  invalid_window: {
    status: 400,
    retry: 'no',
    meaning: 'A time is not RFC 3339, the window ends before it begins, or it is none of those on offer.',
  },
  invalid_meter_window: {
    status: 400,
    retry: 'no',
    meaning:
      'as_of and observed_through are UTC to the second (2026-01-02T03:04:05Z), both past, the second at most 72 hours after the first.',
  },
  invalid_adjustment: {
    status: 400,
    retry: 'no',
    meaning: 'The adjustment does not have the documented form, or its invoice is not open; `detail` says which.',
  },
  invalid_log_request: {
    status: 400,
    retry: 'no',
    meaning: 'The ledger entry misses a required field or holds a value that cannot be hashed.',
  },
  payload_commitment_invalid: {
    status: 400,
    retry: 'no',
    meaning: 'The sidecar bytes do not hash to the digest sent with them.',
  },
  partial_signature: {
    status: 400,
    retry: 'no',
    meaning: 'A ledger entry carries a signature and its key id, or neither.',
  },
  proof_out_of_range: {
    status: 400,
    retry: 'no',
    meaning: 'The tree of that size does not hold the entry, or the log never had that size.',
  },
  cosignature_invalid: {
    status: 400,
    retry: 'no',
    meaning:
      'The checkpoint is not one of this log, or no cosignature of a configured witness holds; nothing was kept.',
  },
  signed_position_invalid: {
    status: 400,
    retry: 'no',
    meaning:
      'A signed ledger entry brings the id and the timestamp its signer fixed, and says both once if it repeats them.',
  },
  unsupported_media_type: {
    status: 400,
    retry: 'no',
    meaning: 'The body of this route is text (text/*) or nothing.',
  },
  final_export_required: {
    status: 409,
    retry: 'after_wait',
    meaning: 'A tombstone needs the final export of the same operation first.',
  },
  tenant_reserved: {
    status: 400,
    retry: 'no',
    meaning: 'The tenant is Gate itself: rows about the ledger, its keys and its tenants are not erased.',
  },
  tenant_required: { status: 400, retry: 'no', meaning: 'Name one tenant: ?tenant=…' },
  signature_invalid: {
    status: 400,
    retry: 'no',
    meaning: 'The signature of the ledger entry does not hold under a trusted key; `reason` says why.',
  },
  verification_keys_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning: 'The keys that signatures are verified with cannot be had; `reason` says why. Nothing was appended.',
  },
  unauthenticated: { status: 401, retry: 'no', meaning: 'The operator token is missing or wrong.' },
  caller_spiffe_missing: {
    status: 401,
    retry: 'no',
    meaning:
      'The connection shows no client certificate with a SPIFFE id that counts here; `reason` says what is missing.',
  },
  capability_denied: {
    status: 403,
    retry: 'no',
    meaning: 'This workload is not on the list of callers of this route.',
  },
  // Certificates (docs/architecture/identity.md).
  invalid_token: { status: 401, retry: 'no', meaning: 'The token is missing, unknown, or counts no more.' },
  budget_invalid: {
    status: 400,
    retry: 'no',
    meaning: '`budget_micros` is no integer from 0 to 9,007,199,254,740,991; null takes the limit away.',
  },
  budgets_exhausted: {
    status: 409,
    retry: 'no',
    meaning: '1,000 agents of the tenant have budgets of their own: take one away first.',
  },
  decoy_invalid: {
    status: 400,
    retry: 'no',
    meaning: 'The decoy could not be found in a call, or not be shown: the message says what is wrong with it.',
  },
  decoy_exists: {
    status: 409,
    retry: 'no',
    meaning: 'The tenant has a decoy of this name, or with this value: take it away first.',
  },
  decoys_exhausted: { status: 409, retry: 'no', meaning: 'The tenant has 200 decoys: take one away first.' },
  tenant_mismatch: { status: 403, retry: 'no', meaning: 'The token is of another tenant than the one that is named.' },
  scope_not_normalized: {
    status: 422,
    retry: 'no',
    meaning:
      'What `field` names is not written as a scope is: 1 to 128 bytes in lower case and Unicode’s form NFC, without spaces and control characters, and not `*`.',
  },
  envelope_not_narrower: {
    status: 422,
    retry: 'no',
    meaning:
      'The new envelope takes nothing away, or has scopes that the one of now has not (`offenders`). Widening is a request of its own.',
  },
  envelope_not_wider: {
    status: 422,
    retry: 'no',
    meaning:
      'The new envelope adds nothing, or lacks scopes that the one of now has (`offenders`). Narrowing is a request of its own.',
  },
  invalid_grant_terms: {
    status: 422,
    retry: 'no',
    meaning: 'No grant has such a time, number of uses or size: `reason` says what is wrong.',
  },
  yellow_scope_outside_envelope: {
    status: 403,
    retry: 'no',
    meaning:
      'The grant would let the agent ask people for more than its envelope lets anybody delegate (`offenders`). Nothing was granted.',
  },
  delegation_not_configured: {
    status: 409,
    retry: 'no',
    meaning: 'No issuer is configured whose people may delegate (`GATE_IDENTITY_OIDC_ISSUERS_FILE`).',
  },
  jwks_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning: "The issuer's keys cannot be had, so nothing can be said about the ID token. Nothing was granted.",
  },
  invalid_csr: { status: 400, retry: 'no', meaning: '`csr_pem` is not one PKCS#10 request in PEM.' },
  invalid_csr_signature: {
    status: 400,
    retry: 'no',
    meaning: 'The request is not signed by the key that it is for.',
  },
  csr_too_large: { status: 413, retry: 'no', meaning: '`csr_pem` is longer than 16 KiB.' },
  unsupported_csr_algorithm: {
    status: 422,
    retry: 'no',
    meaning: 'Use an ECDSA P-256 key with SHA-256, or an Ed25519 key.',
  },
  csr_extensions_forbidden: {
    status: 422,
    retry: 'no',
    meaning: 'The request asks for extensions or attributes; what a certificate says is decided by Gate alone.',
  },
  ttl_seconds_too_large: {
    status: 400,
    retry: 'no',
    meaning: 'A certificate of an agent counts for 3,600 s at most, one of a service for 1,800 s.',
  },
  agent_name_reserved: {
    status: 422,
    retry: 'no',
    meaning:
      'Gate writes rows of its own under this name (`gate-proxy`, `gate-ledger` and others): give the agent another.',
  },
  owner_team_not_in_token: {
    status: 403,
    retry: 'no',
    meaning: 'You may do this with what belongs to a team of yours; for anything else an administrator is needed.',
  },
  certification_incomplete: {
    status: 422,
    retry: 'no',
    meaning:
      'An agent is certified where it passed every case, and there was one at least: `total` and `passed` are the number of cases.',
  },
  uncertified_agent: {
    status: 403,
    retry: 'no',
    meaning:
      'No certificate is issued to an agent that nobody certified (`GATE_IDENTITY_CERTIFICATION_MODE`): an administrator does so (`gate agents certify`).',
  },
  invalid_upstream_url: {
    status: 422,
    retry: 'no',
    meaning: 'The address is none that an upstream may have; the answer says why.',
  },
  upstream_url_taken: {
    status: 409,
    retry: 'no',
    meaning: 'An upstream has this address already, or had it: one that was retired keeps it.',
  },
  upstream_name_taken: { status: 409, retry: 'no', meaning: 'Another upstream of the tenant has this name.' },
  upstreams_exhausted: {
    status: 409,
    retry: 'no',
    meaning: 'The tenant has as many upstreams as it may have: retire one first.',
  },
  agent_name_taken: { status: 409, retry: 'no', meaning: 'An agent of this name is registered already.' },
  agent_name_retired: {
    status: 409,
    retry: 'no',
    meaning: 'An agent of this name was ended for good: its name is never used again.',
  },
  person_required: {
    status: 403,
    retry: 'no',
    meaning:
      'Two people lift a suspension, each by a credential of their own; the token of the administrator is nobody’s.',
  },
  stop_changed: {
    status: 409,
    retry: 'no',
    meaning:
      'It was let go or stopped anew meanwhile, or its release was asked for; nothing was done. Look at how it stands, then send it again.',
  },
  malformed_token: {
    status: 400,
    retry: 'no',
    meaning: 'The token is no signed token with the claims of an actor token.',
  },
  binding_mismatch: {
    status: 403,
    retry: 'no',
    meaning: 'What the token is asked for does not fit together: `reason` says what. Nothing was signed.',
  },
  snapshot_mismatch: {
    status: 422,
    retry: 'no',
    meaning: '`snapshot_sha256` is not the digest of these tools.',
  },
  peer_bundle_unknown: {
    status: 403,
    retry: 'no',
    meaning:
      'The tokens of this Gate (`trust_domain`) cannot be verified: it is none of `GATE_IDENTITY_PEERS_FILE`, or its keys were never had.',
  },
  peer_bundle_stale: {
    status: 403,
    retry: 'no',
    meaning:
      'The keys of this Gate (`trust_domain`) were heard more than a quarter of an hour ago, so its tokens count no more until it answers.',
  },
  jti_already_used: {
    status: 409,
    retry: 'no',
    meaning: 'The token was used before. It counts for one call.',
  },
  replay_store_unavailable: {
    status: 503,
    retry: 'after_wait',
    meaning: 'Whether the token was used before cannot be said, so it does not count; it may be used up.',
  },
  unregistered_agent: { status: 403, retry: 'no', meaning: 'Nobody enrolled this agent.' },
  issuance_authority_denied: {
    status: 403,
    retry: 'no',
    meaning:
      'Nothing of this request gives a right to the certificate: `reason` says what is wrong. Show the current one, or a new token.',
  },
  issuance_replay: {
    status: 409,
    retry: 'no',
    meaning:
      'This request or its key was used before, also where no certificate came of it; make a new key, and get a new token where the token was used.',
  },
  identity_tampered: {
    status: 409,
    retry: 'no',
    meaning:
      'A row of identity is not as Gate wrote it: somebody edited the store. Nothing is given or told by it; `reason` names it. Put the store back.',
  },
  renewals_exhausted: {
    status: 403,
    retry: 'no',
    meaning: 'The agent renewed as often as it may since a person let it in; open a recovery, which lets it in anew.',
  },
  caller_not_allowed: {
    status: 403,
    retry: 'no',
    meaning:
      'A bootstrap certificate counts for `POST /workload-svid` alone, and there only for a workload that is pinned with it; nor has a service any certificate but those of identity renewed.',
  },
  issuance_conflict: {
    status: 409,
    retry: 'no',
    meaning:
      'The request id is of another request, or what was shown counts no more: `reason` says which. Ask with a new id, key and the current certificate; without one, an operator opens a recovery.',
  },
  workload_certificate_ended: {
    status: 503,
    retry: 'after_wait',
    meaning:
      'The certificate of this service ended, and identity gave no other one: it connects with nobody until it has one. Its log says why asking fails.',
  },
  bootstrap_not_available: {
    status: 409,
    retry: 'no',
    meaning: 'The agent got its first certificate already; open a recovery if it lost it.',
  },
  recovery_pending: { status: 409, retry: 'no', meaning: 'A recovery of this agent is open; give it a token.' },
  bootstrap_not_retired: {
    status: 409,
    retry: 'no',
    meaning: 'The agent never had a certificate: there is nothing to recover; give it a token.',
  },
  attestation_contract_version_unsupported: {
    status: 400,
    retry: 'no',
    meaning: 'The request is of another version of the contract of attestation than 1.0.0.',
  },
  attestation_evidence_malformed: {
    status: 400,
    retry: 'no',
    meaning: 'The evidence is not what its kind has, or not what its digest says: `reason` says where.',
  },
  attestation_kind_unsupported: {
    status: 400,
    retry: 'no',
    meaning: 'There is no evidence of this kind.',
  },
  attestation_evidence_too_large: {
    status: 413,
    retry: 'no',
    meaning: 'The evidence is larger than 65,536 bytes.',
  },
  attestation_kind_not_accepted: {
    status: 401,
    retry: 'no',
    meaning: 'The agent attests with other kinds of evidence (`POST /agents/{id}/attestation-kinds`).',
  },
  attestation_challenge_invalid: {
    status: 401,
    retry: 'no',
    meaning:
      'The challenge is not one that identity gave for this, is over, or was answered before. Ask for another one.',
  },
  attestation_nonce_mismatch: {
    status: 401,
    retry: 'no',
    meaning: 'The evidence was made for another request.',
  },
  attestation_evidence_future: {
    status: 401,
    retry: 'no',
    meaning: 'The request is of a later time than now: a clock is wrong.',
  },
  attestation_evidence_stale: {
    status: 401,
    retry: 'no',
    meaning:
      'The evidence is older than five minutes, or the certificate has no result that still counts. Attest anew.',
  },
  attestation_key_mismatch: {
    status: 401,
    retry: 'no',
    meaning: 'The evidence is bound to another key than that of the certificate.',
  },
  attestation_svid_mismatch: {
    status: 401,
    retry: 'no',
    meaning: 'The certificate is not the current one of the agent.',
  },
  attestation_identity_mismatch: {
    status: 401,
    retry: 'no',
    meaning: "The evidence is of another SPIFFE ID than the caller's.",
  },
  attestation_tenant_mismatch: {
    status: 401,
    retry: 'no',
    meaning: 'The evidence is of another tenant than the certificate.',
  },
  attestation_workload_mismatch: {
    status: 401,
    retry: 'no',
    meaning: 'The evidence is of another agent than the certificate.',
  },
  attestation_instance_mismatch: {
    status: 401,
    retry: 'no',
    meaning: 'The evidence is of another instance than the certificate.',
  },
  attestation_measurement_unapproved: {
    status: 401,
    retry: 'no',
    meaning:
      'Nobody approved what the platform measured, for this agent and under this version, or the approval was withdrawn.',
  },
  attestation_issuer_untrusted: {
    status: 401,
    retry: 'no',
    meaning: 'The key that signed the evidence is not one that is pinned, or its signature does not hold.',
  },
  attestation_verifier_policy_mismatch: {
    status: 401,
    retry: 'no',
    meaning: 'The evidence is bound to other rules than those by which this verifier judges.',
  },
  attestation_kind_unknown: {
    status: 422,
    retry: 'no',
    meaning: 'There is no such kind of evidence; `reason` names it.',
  },
  measurement_exists: {
    status: 409,
    retry: 'no',
    meaning:
      'This measurement of this agent was approved under this version before, or its approval was withdrawn: a new approval has a new version.',
  },
  attestation_verifier_unavailable: {
    status: 503,
    retry: 'no',
    meaning: 'No verifier of this evidence is configured; evidence is never taken unverified.',
  },
  ca_unavailable: { status: 503, retry: 'after_wait', meaning: 'The CA cannot sign this certificate now.' },
  case_not_found: { status: 404, retry: 'no', meaning: 'There is no case with this id.' },
  invalid_status: { status: 400, retry: 'no', meaning: 'The status of a case is open, contained or closed.' },
  invalid_severity: {
    status: 400,
    retry: 'no',
    meaning: 'The severity of a case is serious, death or critical_infra.',
  },
  not_found: { status: 404, retry: 'no', meaning: 'There is no such object for this caller.' },
  already_decided: {
    status: 409,
    retry: 'no',
    meaning: 'It was decided or ended before. The first decision stands, and this one changed nothing.',
  },
  pending_expired: { status: 409, retry: 'no', meaning: 'The deadline has passed; the row is closed.' },
  pending_aborted: {
    status: 409,
    retry: 'no',
    meaning: 'Gate closed the call while it waited, and nothing ran; its ledger rows say why.',
  },
  operation_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'This operation id was used for another request, or a later operation has overtaken it; use a new one.',
  },
  hold_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'The row is under another legal hold, or under none; nothing was changed.',
  },
  note_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'Somebody else noted something on the row meanwhile; nothing was saved. Read it, then send yours with it.',
  },
  pending_conflict: { status: 409, retry: 'no', meaning: 'This correlation id is bound to another payload.' },
  tenant_offboarded: {
    status: 409,
    retry: 'no',
    meaning:
      'The tenant is offboarded, for good: nothing of it is enrolled, certified, put before a person or approved any more.',
  },
  confirm_mismatch: { status: 400, retry: 'no', meaning: '`confirm` is the name of the tenant, typed out once more.' },
  idempotency_key_required: {
    status: 400,
    retry: 'no',
    meaning: 'Send an Idempotency-Key header of 1 to 128 visible ASCII characters.',
  },
  lifecycle_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'Another operation of this tenant and kind has this Idempotency-Key; it stands, and nothing was begun.',
  },
  rotation_active: {
    status: 409,
    retry: 'after_wait',
    meaning: 'Another key of this use is on its way, or the one before it is not withdrawn yet; `key_id` names it.',
  },
  rotation_unavailable: {
    status: 409,
    retry: 'no',
    meaning:
      'The certificate of this service is not of identity itself, so nobody would take over another CA by itself; or the key that signs lies in a token or in KMS, and no setting says where the next one is made.',
  },
  lifecycle_active: {
    status: 409,
    retry: 'after_wait',
    meaning: 'Another operation on this tenant has not ended; `operation_id` names it.',
  },
  step_not_next: { status: 409, retry: 'no', meaning: 'Steps are done in their order; this one is not the next.' },
  owner_mismatch: { status: 409, retry: 'no', meaning: 'The step is of another owner.' },
  lease_held: {
    status: 409,
    retry: 'after_wait',
    meaning: 'Somebody claimed the step and has not said what came of it; its lease ends in `retry_after_secs`.',
  },
  retry_not_due: {
    status: 409,
    retry: 'after_wait',
    meaning: 'The step failed and is tried again in `retry_after_secs`, or at once where somebody asks for it.',
  },
  manual_recovery: {
    status: 409,
    retry: 'no',
    meaning: 'The step failed so often, or so, that a person looks first, and then has it taken up again.',
  },
  lease_invalid: {
    status: 409,
    retry: 'no',
    meaning: 'This is not the lease of the step, or it ended; nothing changed. Claim the step again.',
  },
  step_not_retryable: { status: 409, retry: 'no', meaning: 'The step has not failed; there is nothing to take up.' },
  receipt_required: { status: 422, retry: 'no', meaning: 'A step succeeds with the receipt of its owner.' },
  receipt_too_large: { status: 422, retry: 'no', meaning: 'A receipt has 16 KiB at most.' },
  warrant_invalid: {
    status: 403,
    retry: 'no',
    meaning: 'Identity had no such step done here, or not now: its warrant is of another owner, or not signed by it.',
  },
  warrant_over: {
    status: 403,
    retry: 'after_wait',
    meaning:
      'The warrant of this step has ended by the clock of whoever has to do it; `reason` names both times. Where that happens again and again, one of the clocks is wrong.',
  },
  operation_unfinished: {
    status: 503,
    retry: 'yes',
    meaning: 'A part of what was asked for is done and stays done; send the same request again for the rest.',
  },
  action_digest_mismatch: {
    status: 409,
    retry: 'no',
    meaning: 'The call that waits is not the one this decision names; look at it again. Nothing was decided.',
  },
  review_tampered: {
    status: 409,
    retry: 'no',
    meaning:
      'The stored review is not what Gate wrote. Nobody can approve or deny it; its call ends at its deadline and nothing runs.',
  },
  channel_already_linked: {
    status: 409,
    retry: 'no',
    meaning: 'This account of the chat is linked to another person of the tenant, who must unlink it first.',
  },
  identity_not_linked: {
    status: 404,
    retry: 'no',
    meaning:
      'Nobody has linked this account of the chat. Enter the code that comes with this answer at the console, page You (/me), within ten minutes, then click again. It lets your clicks decide as whoever enters it: give it to nobody.',
  },
  link_code_invalid: {
    status: 403,
    retry: 'no',
    meaning:
      'This is no code of this Gate for an account of a chat, or it was used, or is older than ten minutes. Click in the chat again for another one.',
  },
  chat_signature_invalid: {
    status: 401,
    retry: 'no',
    meaning:
      'The chat did not sign this click, or not in the last five minutes, or it was accepted before; click again, or check the signing secret.',
  },
  invalid_cursor: {
    status: 400,
    retry: 'no',
    meaning: 'The cursor is not one that this list gave for the same tenant, filter and order; begin without one.',
  },
  still_pending: { status: 409, retry: 'no', meaning: 'The review is not decided yet; this is for what comes after.' },
  unknown_escalation_pool: {
    status: 400,
    retry: 'no',
    meaning: 'No escalation pool has this name; `escalation_pools` lists those that there are.',
  },
  no_channel_set: {
    status: 409,
    retry: 'no',
    meaning: 'No channel is set that could be tested; `reason` names the settings, of which one is needed.',
  },
  not_pending: { status: 409, retry: 'no', meaning: 'Nothing waits for a decision under this id any more.' },
  review_held: {
    status: 409,
    retry: 'no',
    meaning:
      'This review was withdrawn, and a legal hold keeps what it was about: nothing is written over it. Use a new id.',
  },
  ledger_entry_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'An entry with this id and other content exists; nothing was appended.',
  },
  adjustment_conflict: {
    status: 409,
    retry: 'no',
    meaning: 'Another adjustment has this idempotency key; it stands, and nothing was recorded.',
  },
  adjustment_below_zero: {
    status: 422,
    retry: 'no',
    meaning: 'The adjustment takes more agents off the invoice than are on it; nothing was recorded.',
  },
  payload_too_large: { status: 413, retry: 'no', meaning: 'The body is larger than this route takes.' },
  modified_payload_rejected: { status: 422, retry: 'no', meaning: 'Whole-payload rewrites are not accepted.' },
  unsupported_decision: {
    status: 422,
    retry: 'no',
    meaning:
      'Only a call that Gate executes can be changed. This one is approved or denied: deny it and say what should be asked instead.',
  },
  invalid_modification_diff: {
    status: 422,
    retry: 'no',
    meaning: 'The change does not fit the call; `detail` names the rule, and nothing was decided.',
  },
  modify_under_quorum: {
    status: 422,
    retry: 'no',
    meaning: 'A call that several people must approve is approved as it is, or denied.',
  },
  modification_unjudged: {
    status: 503,
    retry: 'yes',
    meaning: 'The changed call could not be judged now, so nothing was decided; send the same decision again.',
  },
  own_request: {
    status: 403,
    retry: 'no',
    meaning: 'Nobody approves a call of his own; somebody else must. Denying it is possible.',
  },
  passkey_required: {
    status: 403,
    retry: 'no',
    meaning: 'This call is approved only with the passkey of its approver; sign the challenge of the row.',
  },
  passkey_refused: {
    status: 401,
    retry: 'no',
    meaning:
      'What the passkey signed does not hold for this decision, or the passkey is not one of the approver; `reason` says why.',
  },
  passkeys_not_set_up: {
    status: 409,
    retry: 'no',
    meaning:
      'Passkeys belong to the address of the console, and none is set (GATE_CONSOLE_URL), or this edition (lite) has no passkeys.',
  },
  passkeys_not_vouched: {
    status: 403,
    retry: 'no',
    meaning:
      'Passkeys belong to operators by token, and to people who sign in by one: whom the console vouches for has none. Sign in as an operator of GATE_HIL_OPERATORS.',
  },
  passkey_session_required: {
    status: 403,
    retry: 'no',
    meaning: 'Log in with your passkey first; the token alone is not enough for this.',
  },
  recovery_refused: {
    status: 403,
    retry: 'no',
    meaning:
      'The token of recovery is not yours, was used, is over, or others were tried too often. Ask for another one.',
  },
  passkey_known: { status: 409, retry: 'no', meaning: 'This passkey is registered already.' },
  person_known: {
    status: 409,
    retry: 'no',
    meaning: 'Somebody of this name has a passkey already: allow a new one for him, or take him out first.',
  },
  ceremony_not_found: {
    status: 404,
    retry: 'no',
    meaning: 'No such ceremony of yours is under way: it is over, took too long, or failed too often. Start again.',
  },
  decision_refused: {
    status: 409,
    retry: 'yes',
    meaning:
      'The workflow did not take the decision (it came too late, or this service did not sign it); the row is unchanged.',
  },
  clocks_apart: {
    status: 409,
    retry: 'yes',
    meaning:
      'The clocks of HIL and of the worker, or of HIL and its database, are more than a minute apart, so that no decision is in time; `reason` says by how much. Nothing was decided: put the clocks right, then decide again.',
  },
  tenant_scope_required: {
    status: 400,
    retry: 'no',
    meaning: 'Name the tenant in X-Gate-Tenant-Scope, or present a token that is bound to one.',
  },
  legacy_identity_header: {
    status: 400,
    retry: 'no',
    meaning: 'Who decides comes from the credential; drop the X-Gate-Decided-By header.',
  },
  forwarded_certificate: {
    status: 400,
    retry: 'no',
    meaning:
      'A certificate counts only in the TLS of the console itself: let TLS end there, and drop the header that forwards one.',
  },
  modification_diff_required: { status: 400, retry: 'no', meaning: 'A modify decision needs a modification_diff.' },
  payload_unavailable: {
    status: 503,
    retry: 'no',
    meaning: 'The stored payload cannot be decrypted; nobody can decide what nobody can read.',
  },
  unknown_tier: { status: 422, retry: 'no', meaning: 'approval_tier is auto, standard or strict.' },
  namespace_required: { status: 422, retry: 'no', meaning: 'state_namespace is operator or demo, and required.' },
  invalid_callback: { status: 422, retry: 'no', meaning: 'callback_url is not an http or https address.' },
  invalid_ttl: { status: 422, retry: 'no', meaning: 'ttl_seconds must be between 1 and 86400.' },
  internal_error: {
    status: 500,
    retry: 'no',
    meaning: 'A fault in Gate; the log of the service holds it under the correlation id.',
  },
} as const satisfies Record<string, ErrorCode>;

export type ErrorCodeName = keyof typeof ERROR_CODES;

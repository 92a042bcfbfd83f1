package gate.templates.support_velocity_test

import rego.v1

import data.gate.templates.fixtures

name := "support_velocity"

test_pace_is_counted if fixtures.asks(name, object.union({"tool_type": "users.update", "arguments": {}}, {"recent_request_count": 31}))

test_a_count_that_is_no_number_is_too_fast if fixtures.asks(name, object.union({"tool_type": "users.update", "arguments": {}}, {"recent_request_count": "few"}))

test_slow_work_runs if fixtures.silent(name, object.union({"tool_type": "users.update", "arguments": {}}, {"recent_request_count": 1}))

test_old_acts_do_not_count if fixtures.silent(name, object.union({"tool_type": "reset_mfa", "arguments": {}}, {"agent_history": {"last_tool": "reset_mfa", "recent_sequence": [{"tool": "reset_mfa", "ts_ms": 1794990000000}]}}))

test_the_pace_is_a_parameter if fixtures.asks(name, object.union({"tool_type": "users.update", "arguments": {}}, {"recent_request_count": 6})) with data.gate.support_velocity as {"most_a_minute": 5}

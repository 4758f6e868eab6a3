import { readClientMessage } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { type PreparedRequest, RequestMemo } from './dispatcher.ts';

function remembers(rest: string): boolean {
	const memo = new RequestMemo();
	const prepared: PreparedRequest = { func: 'ping', data: null, timeoutMs: undefined, handler: () => 'null' };
	const message = readClientMessage(`{"id":1${rest}`);
	if (message.kind !== 'request') throw new Error(`no request: {"id":1${rest}`);
	memo.remember(rest, message, prepared);
	return memo.find(rest) === prepared;
}

describe('the memo of requests', () => {
	it('remembers a request by what stands behind its id', () => {
		expect(remembers(',"func":"ping"}')).toBe(true);
	});

	it('does not remember a rest that goes on with the id: behind another id it means another one, or none', () => {
		expect(readClientMessage('{"id":0.0000000000000001,"func":"ping"}').kind).toBe('fault');
		expect(remembers('.0000000000000001,"func":"ping"}')).toBe(false);
		expect(remembers('e0,"func":"ping"}')).toBe(false);
	});

	it('does not remember a rest with a trace, which comes once', () => {
		const trace = '"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"';
		expect(remembers(`,${trace},"func":"ping"}`)).toBe(false);
		expect(remembers(`,"func":"ping",${trace}}`)).toBe(false);
	});

	it('does not remember a rest with an id of its own', () => {
		expect(remembers(',"func":"ping","id":7}')).toBe(false);
	});
});

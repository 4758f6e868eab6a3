import { inspect } from 'node:util';

import { describe, expect, it } from 'vitest';

import { errorCodes, errorHelp, isWireErrorCode } from './error-code.ts';
import { SpockError } from './spock-error.ts';

describe('SpockError', () => {
	it('takes from the code table whether a retry can help, and keeps its cause', () => {
		const cause = new Error('refused');
		const error = new SpockError('UNAVAILABLE', 'no backend', { cause, details: { service: 'barista' } });
		expect(error).toMatchObject({ name: 'SpockError', code: 'UNAVAILABLE', retryable: true, cause });
		expect(error.details).toEqual({ service: 'barista' });
		expect(Object.isFrozen(error.details)).toBe(true);
	});

	it('has a stack, unless it is told that there is none worth having; the limit of others stays', () => {
		const { stackTraceLimit } = Error;
		expect(new SpockError('UNAVAILABLE', 'no backend').stack).toContain('spock-error.test');
		const stackless = new SpockError('UNAVAILABLE', 'no backend', { isStackless: true });
		expect(stackless.stack).toBe('SpockError: no backend');
		expect(SpockError.fromWire({ code: 'TIMEOUT' }).stack).not.toContain(' at ');
		expect(Error.stackTraceLimit).toBe(stackTraceLimit);
	});

	it('may be given another name, as any error', () => {
		const error = new SpockError('CLOSED', 'm');
		expect(Object.keys(error)).not.toContain('name');
		error.name = 'LookupError';
		expect([error.name, new SpockError('CLOSED', 'm').name]).toEqual(['LookupError', 'SpockError']);
		expect(String(error)).toBe('LookupError: m');
	});

	it('leads to the section about its code, which a console shows and the wire leaves out', () => {
		const error = new SpockError('NO_SUCH_SERVICE', 'no instance', { details: { service: 'x' } });
		const help = 'node_modules/@spock/client/docs/reference/errors.md#no_such_service';
		expect(error.details.help).toBe(help);
		expect(inspect(error, { breakLength: 1000 })).toContain(`details: { service: 'x', help: '${help}' }`);
		expect(JSON.stringify(error.toWire())).not.toContain('help');
		const back = SpockError.fromWire(JSON.parse(JSON.stringify(error.toWire())));
		expect([back.details.help, Object.keys(back.details)]).toEqual([help, ['service']]);
	});

	it('is not led astray by details of any name that come over the wire', () => {
		const details = JSON.parse('{"__proto__":{"help":"evil"},"constructor":1}');
		const error = SpockError.fromWire({ code: 'OVERLOADED', message: 'm', details });
		expect(error.details.help).toBe(errorHelp('OVERLOADED'));
		expect(Object.keys(error.details)).toEqual(['__proto__', 'constructor']);
		const own = SpockError.fromWire({ code: 'OVERLOADED', message: 'm', details: { help: 'of a peer' } });
		expect(own.details.help).toBe('of a peer');
	});

	it('goes over the wire and comes back the same', () => {
		const error = new SpockError('NO_SUCH_SERVICE', 'no instance', { details: { service: 'x' } });
		const back = SpockError.fromWire(JSON.parse(JSON.stringify(error.toWire())));
		expect(back.toWire()).toEqual(error.toWire());
	});

	it('keeps codes that are local to a client off the wire', () => {
		for (const code of ['TIMEOUT', 'ABORTED', 'DISCONNECTED', 'CLOSED', 'PROTOCOL'] as const) {
			expect(isWireErrorCode(code)).toBe(false);
			expect(new SpockError(code, 'm').toWire().code).toBe('INTERNAL');
		}
		expect(Object.values(errorCodes).filter(({ wire }) => wire)).toHaveLength(12);
	});

	it('reads any failure without a TypeError: of a newer sidecar, half empty, or no object at all', () => {
		expect(SpockError.fromWire({ code: 'BREWING', message: 'm', retryable: true })).toMatchObject({
			code: 'INTERNAL',
			retryable: true,
			details: { code: 'BREWING' },
		});
		for (const wire of [null, undefined, 5, 'x', [], {}, { code: 'TIMEOUT' }, { code: '__proto__', details: [] }]) {
			expect(SpockError.fromWire(wire)).toMatchObject({ code: 'INTERNAL', retryable: false });
		}
	});

	it('wraps what is no SpockError without repeating its message, which may be secret', () => {
		const wrapped = SpockError.from(new Error('token=s3cret'));
		expect(wrapped).toMatchObject({ code: 'INTERNAL', cause: { message: 'token=s3cret' } });
		expect(JSON.stringify(wrapped.toWire())).not.toContain('s3cret');
		expect(SpockError.from(wrapped)).toBe(wrapped);
	});

	it('is known by its brand, not by its class', () => {
		expect(SpockError.is({ [Symbol.for('@spock/error')]: true, code: 'CLOSED' }, 'CLOSED')).toBe(true);
		expect(SpockError.is(new SpockError('CLOSED', 'm'), 'TIMEOUT')).toBe(false);
		for (const value of [null, undefined, 'x', new Error('x')]) expect(SpockError.is(value)).toBe(false);
	});
});

import { describe, expect, it } from 'vitest';

import { resolveSettings } from './resolve-settings.ts';
import { type SettingName, settings } from './settings.ts';

function inForce(name: SettingName, sources: Partial<Parameters<typeof resolveSettings>[0]>): unknown {
	const { value, origin } = resolveSettings({ flags: {}, env: {}, ...sources })[name];
	return [value, origin];
}

describe('resolveSettings', () => {
	it('a flag wins over the environment, that over the config file, that over the default', () => {
		const flags = { logLevel: 'debug' };
		const env = { SPOCK_LOG_LEVEL: 'warn' };
		const file = { name: 'spock.yaml', values: { logLevel: 'error' } };
		expect(inForce('logLevel', { flags, env, file })).toEqual(['debug', 'flag']);
		expect(inForce('logLevel', { env, file })).toEqual(['warn', 'environment']);
		expect(inForce('logLevel', { file })).toEqual(['error', 'config file']);
		expect(inForce('logLevel', {})).toEqual(['info', 'default']);
	});

	it('an empty variable counts as absent', () => {
		expect(inForce('socket', { env: { SPOCK_SOCKET: '' } })).toEqual([undefined, 'default']);
	});

	it.each([
		['consulToken', 'CONSUL_HTTP_TOKEN'],
		['token', 'SPOCK_TOKEN'],
	] as const)('the secret %s is read without the end of a line', (name, variable) => {
		const { variable: own } = settings.find((setting) => setting.name === name) ?? {};
		expect(inForce(name, { env: { [own ?? variable]: 'secret\n' } })).toEqual(['secret', 'environment']);
		expect(inForce(name, { file: { name: 'f', values: { [name]: 'secret\r\n' } } })).toEqual(['secret', 'config file']);
		expect(() => inForce(name, { env: { [own ?? variable]: '\n' } })).toThrow(own ?? variable);
	});

	it('reads numbers, lists, modes and switches from text', () => {
		expect(inForce('graceMs', { env: { SPOCK_GRACE_MS: '250' } })).toEqual([250, 'environment']);
		expect(inForce('graceMs', { flags: { graceMs: '1.5m' } })).toEqual([90_000, 'flag']);
		expect(inForce('idleTtlMs', { env: { SPOCK_IDLE_TTL_MS: '10s' } })).toEqual([10_000, 'environment']);
		expect(inForce('graceMs', { file: { name: 'f', values: { graceMs: 0 } } })).toEqual([0, 'config file']);
		expect(inForce('graceMs', { file: { name: 'f', values: { graceMs: '0s' } } })).toEqual([0, 'config file']);
		expect(inForce('consul', { flags: { consul: 'http://a:1, http://b:2' } })).toEqual([
			['http://a:1', 'http://b:2'],
			'flag',
		]);
		expect(inForce('socketMode', { flags: { socketMode: '0600' } })).toEqual([0o600, 'flag']);
		expect(inForce('panicThreshold', { env: { SPOCK_PANIC_THRESHOLD: '0.25' } })).toEqual([0.25, 'environment']);
		expect(inForce('panicThreshold', { file: { name: 'f', values: { panicThreshold: 1 } } })).toEqual([
			1,
			'config file',
		]);
		expect(inForce('listenAny', { env: { SPOCK_LISTEN_ANY: 'true' } })).toEqual([true, 'environment']);
	});

	it('refuses a wrong value and names it, and where it came from', () => {
		const cases: [Partial<Parameters<typeof resolveSettings>[0]>, string][] = [
			[
				{ env: { SPOCK_GRACE_MS: 'soon' } },
				'SPOCK_GRACE_MS must be a duration such as 500ms, 10s, 2m or 1h, not "soon"',
			],
			[{ env: { SPOCK_GRACE_MS: '10d' } }, 'not "10d": unknown unit "d"; use ms, s, m or h'],
			[{ file: { name: 'f', values: { graceMs: [5] } } }, 'graceMs in f must be a duration such as 500ms'],
			[{ flags: { graceMs: '-1' } }, '--grace-ms must be a duration such as 500ms, 10s, 2m or 1h, not "-1"'],
			[{ env: { SPOCK_DNS_PROTOCOL: 'tls' } }, 'SPOCK_DNS_PROTOCOL must be one of udp, tcp, not "tls"'],
			[{ env: { SPOCK_BACKEND: 'consul,' } }, 'SPOCK_BACKEND must be a list without empty items, not "consul,"'],
			[{ flags: { panicThreshold: '1.5' } }, '--panic-threshold must be a number from 0 to 1, not "1.5"'],
			[{ flags: { panicThreshold: '.' } }, '--panic-threshold must be a number from 0 to 1'],
			[{ flags: { socketMode: '999' } }, '--socket-mode must be three octal digits'],
			[{ env: { SPOCK_ENTRIES_MAX: '10s' } }, 'SPOCK_ENTRIES_MAX must be a whole number, not "10s"'],
			// YAML reads 0440 as the decimal 440, which is 0670: more than was meant.
			[
				{ file: { name: 'a.yaml', values: { socketMode: 440 } } },
				'socketMode in a.yaml must be three octal digits as text',
			],
			[{ file: { name: 'a.yaml', values: { socket: 5 } } }, 'socket in a.yaml must be non-empty text, not 5'],
		];
		for (const [sources, message] of cases) {
			expect(() => resolveSettings({ flags: {}, env: {}, ...sources })).toThrow(message);
		}
	});

	it('a misspelt key of a config file is refused with what was meant, also where it is written as a flag or a variable', () => {
		const refused = (values: Record<string, unknown>) => () =>
			resolveSettings({ flags: {}, env: {}, file: { name: 'a.yaml', values } });
		expect(refused({ sokket: '/x' })).toThrow(/^a\.yaml: unknown setting sokket \(did you mean socket\?\)$/);
		expect(refused({ 'log-level': 'info', SPOCK_GRACE_MS: 1 })).toThrow(
			/^a\.yaml: unknown settings log-level \(did you mean logLevel\?\), SPOCK_GRACE_MS \(did you mean graceMs\?\)$/,
		);
		expect(refused({ brew: 1 })).toThrow(/^a\.yaml: unknown setting brew; `start --help` lists all settings$/);
		const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`brew${index}`, 1]));
		expect(refused(many)).toThrow(/unknown settings brew0, brew1, brew2, brew3, brew4, and 35 more; /);
	});

	it('every duration is read in each unit from a flag, a variable and a config file', () => {
		for (const { name, variable, kind } of settings) {
			if (kind !== 'duration') continue;
			for (const [text, value] of [
				['500ms', 500],
				['10s', 10_000],
				['2m', 120_000],
				['1h', 3_600_000],
				['250', 250],
			] as const) {
				expect(inForce(name, { flags: { [name]: text } })).toEqual([value, 'flag']);
				expect(inForce(name, { env: { [variable]: text } })).toEqual([value, 'environment']);
				expect(inForce(name, { file: { name: 'f', values: { [name]: text } } })).toEqual([value, 'config file']);
			}
			expect(inForce(name, { file: { name: 'f', values: { [name]: 250 } } })).toEqual([250, 'config file']);
		}
	});

	it('hides a secret that is wrong', () => {
		expect(() => resolveSettings({ flags: {}, env: {}, file: { name: 'f', values: { consulToken: 7 } } })).toThrow(
			'(hidden)',
		);
	});

	it('every setting has an environment variable of its own, and no secret has a flag', () => {
		expect(new Set(settings.map(({ variable }) => variable)).size).toBe(settings.length);
		for (const { isSecret, flag } of settings) if (isSecret) expect(flag).toBeUndefined();
	});
});

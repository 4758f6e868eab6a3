import { expect, it } from 'vitest';
import { UNKNOWN_VARIABLES_MAX, unknownVariables } from './resolve-settings.ts';
import { settings } from './settings.ts';

it('a misspelt variable is told with the one that was meant, sorted, and never its value', () => {
	const env = { SPOCK_LOGLEVEL: 'debug', SPOCK_ADMN: 'secret', SPOCK_BREW: 'x', PATH: '/bin', CONSUL_HTTP_ADRR: 'x' };
	expect(unknownVariables(env)).toEqual([
		{ variable: 'SPOCK_ADMN', meant: 'SPOCK_ADMIN' },
		{ variable: 'SPOCK_BREW', meant: undefined },
		{ variable: 'SPOCK_LOGLEVEL', meant: 'SPOCK_LOG_LEVEL' },
	]);
});

it('no setting, no variable of the other commands and none of Kubernetes is told of', () => {
	const env = Object.fromEntries(settings.map((setting) => [setting.variable, 'x']));
	const others = { SPOCK_CONFIG: 'x', SPOCK_TOKEN: 'x', SPOCK_TOKEN_FILE: 'x', SPOCK_CONNECT_CA: 'x' };
	const links = {
		SPOCK_SIDECAR_SERVICE_HOST: '10.0.0.1',
		SPOCK_SIDECAR_SERVICE_PORT: '80',
		SPOCK_SIDECAR_SERVICE_PORT_HTTP: '80',
		SPOCK_SIDECAR_PORT: 'tcp://10.0.0.1:80',
		SPOCK_SIDECAR_PORT_80_TCP: 'tcp://10.0.0.1:80',
		SPOCK_SIDECAR_PORT_80_TCP_ADDR: '10.0.0.1',
	};
	expect(unknownVariables({ ...env, ...others, ...links })).toEqual([]);
	expect(unknownVariables({ SPOCK_ADMIN_PORT: '9000' })).toEqual([
		{ variable: 'SPOCK_ADMIN_PORT', meant: 'SPOCK_ADMIN' },
	]);
});

it('of many only the first are told', () => {
	const env = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`SPOCK_X${index}`, '']));
	expect(unknownVariables(env)).toHaveLength(UNKNOWN_VARIABLES_MAX);
	expect(UNKNOWN_VARIABLES_MAX).toBe(10);
});

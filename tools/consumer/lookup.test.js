// A CommonJS test of an app, as Jest runs it: a lookup without a sidecar, and every package by `require`.
const { createDiplomat, SpockError } = require('@spock/client');
const { localSource } = require('@spock/discovery');

test('a lookup in direct mode', async () => {
	const source = await localSource({ services: { barista: [{ host: '10.0.0.1', port: 8765 }] } });
	const diplomat = createDiplomat({ source });
	await expect(diplomat.getService('barista')).resolves.toMatchObject({ host: '10.0.0.1', port: 8765 });
	const failed = await diplomat.getService('nobody').catch((error) => error);
	expect(failed).toBeInstanceOf(SpockError);
	expect(failed).toMatchObject({ name: 'SpockError', code: 'NO_SUCH_SERVICE' });
	await diplomat.close();
});

test.each([
	'balancer',
	'client/integrations',
	'client/otel',
	'client/tls',
	'discovery/contract',
	'fastify',
	'grpc',
	'http',
	'ioredis',
	'nestjs',
	'pg',
	'protocol',
	'protocol/node',
	'undici',
])('@spock/%s can be required', (name) => {
	expect(Object.keys(require(`@spock/${name}`)).length).toBeGreaterThan(0);
});

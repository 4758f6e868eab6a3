import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createDiplomat, Diplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { describe, expect, it } from 'vitest';

import { diplomatToken, InjectDiplomat, SpockHealthIndicator, SpockModule, type SpockModuleOptions } from './index.ts';

const services = { barista: [{ host: '10.0.0.1', port: 8765 }] };

/** An app without HTTP, of these modules. */
async function appOf(...imports: ReturnType<typeof SpockModule.forRoot>[]) {
	class AppModule {}
	Module({ imports })(AppModule);
	return NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
}

describe('the client', () => {
	it('is injected as Diplomat, and ends with the app', async () => {
		const app = await appOf(SpockModule.forRoot({ source: await localSource({ services }) }));
		const diplomat = app.get(Diplomat);
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1' });
		await app.close();
		expect(await diplomat.closed).toEqual({ reason: 'drain' });
	});

	it('that exists already stays open, unless it must be drained', async () => {
		await using diplomat = createDiplomat({ source: await localSource({ services }) });
		for (const drainOnShutdown of [undefined, true]) {
			const options = { diplomat, ...(drainOnShutdown !== undefined && { drainOnShutdown }) };
			const app = await appOf(SpockModule.forRootAsync({ useFactory: () => options }));
			expect(app.get(Diplomat)).toBe(diplomat);
			await app.close();
			expect(diplomat.status().state).toBe(drainOnShutdown ? 'closed' : 'ready');
		}
	});

	it('with a name is another one, and each module has its own', async () => {
		const source = async () => ({ source: await localSource({ services }) });
		const app = await appOf(
			SpockModule.forRoot(await source()),
			SpockModule.forRoot({ name: 'orders', ...(await source()) }),
			SpockModule.forRootAsync({ name: 'till', isGlobal: false, useFactory: source }),
		);
		const clients = [undefined, 'orders', 'till'].map((name) => app.get(diplomatToken(name), { strict: false }));
		expect(new Set(clients).size).toBe(3);
		await app.close();
		expect(clients.map((client) => client.status().state)).toEqual(['closed', 'closed', 'closed']);
	});
});

describe('wrong options', () => {
	it.each([
		[{ pth: '/uds' }, 'unknown option "pth"'],
		[{ drainOnShutdown: 'yes' }, 'drainOnShutdown'],
		[{ diplomat: 7 }, 'diplomat must be a Diplomat'],
	])('of the client fail the start of the app: %j', async (options, message) => {
		await expect(appOf(SpockModule.forRoot(options as SpockModuleOptions))).rejects.toThrow(message);
	});

	it('of the registration do too, and leave no client open', async () => {
		const source = await localSource({ services });
		let isClosed = false;
		const close = source.close.bind(source);
		source.close = async () => {
			isClosed = true;
			await close();
		};
		const wrong = SpockModule.forRoot({ source, register: {} as never });
		await expect(appOf(wrong)).rejects.toThrow('register must be the name of a service');
		expect(isClosed).toBe(true);
	});

	it('of the module throw at the call', () => {
		expect(() => SpockModule.forRoot({ name: '' })).toThrow('name must be a text that is not empty, got ""');
		expect(() => InjectDiplomat('')).toThrow('name must be a text that is not empty, got ""');
		expect(() => SpockModule.forRoot({ isGlobal: 1 as never })).toThrow('isGlobal');
		expect(() => SpockModule.forRootAsync({} as never)).toThrow('forRootAsync needs useFactory');
	});
});

describe('the health indicator', () => {
	it('is down once the client ends, and while there is no sidecar if that is required', async () => {
		const app = await appOf(SpockModule.forRoot({ source: await localSource({ services }) }));
		const spock = app.get(SpockHealthIndicator);
		expect(spock.check('spock')).toEqual({ spock: { status: 'up', sidecar: 'ready' } });
		await app.close();
		expect(spock.check('spock')).toEqual({ spock: { status: 'down', sidecar: 'closed' } });

		await using absent = createDiplomat({ path: '/tmp/spock-nobody-is-here.sock' });
		const alone = new SpockHealthIndicator();
		expect(alone.check('spock', { diplomat: absent })).toMatchObject({ spock: { status: 'up' } });
		expect(alone.check('spock', { diplomat: absent, requireSidecar: true })).toMatchObject({
			spock: { status: 'down' },
		});
		expect(() => alone.check('spock')).toThrow('give diplomat: there is no client without a name');
		expect(() => alone.check('spock', { requiresSidecar: true } as never)).toThrow('requiresSidecar');
	});
});

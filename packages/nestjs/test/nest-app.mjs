// A NestJS app with what is built of the package: two clients, a health check, a registration. It is driven over HTTP, by lines of its
// input and by signals. Decorators are called, because Node does not read their syntax.
//   SPOCK_SOCKET=PATH node [--import ./nest-11/use.mjs] nest-app.mjs
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Diplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { AppRegistration, diplomatToken, InjectDiplomat, SpockHealthIndicator, SpockModule } from '@spock/nestjs';

const say = (line) => process.stdout.write(`${line}\n`);
/** The next line of the input. */
const line = () => once(process.stdin, 'data');
const SERVICES = 'the services of a provider';

class Waiter {
	constructor(diplomat, second, spock, health, registration) {
		Object.assign(this, { diplomat, second, spock, health, registration });
	}

	async barista() {
		const { host, port } = await this.diplomat.getService('barista');
		return { host, port };
	}

	async orders() {
		const { host, port } = await this.second.getService('orders');
		return { host, port };
	}

	/** Looks up when the test says so, perhaps while the app is shut down. */
	async slow() {
		say('asked');
		await line();
		return this.barista();
	}

	readyz() {
		return this.health.check([
			() => this.spock.check('spock'),
			() => this.spock.check('second', { diplomat: this.second, requireSidecar: true }),
		]);
	}

	/** Without @nestjs/terminus. */
	plain() {
		return { ...this.spock.check('spock'), registered: this.registration.registration?.service ?? null };
	}

	beforeApplicationShutdown() {
		say(`before shutdown: ${this.registration.registration.state}, ${this.diplomat.status().state}`);
	}

	onApplicationShutdown() {
		say(`shutdown: ${this.registration.registration.state}`);
	}
}
for (const [path, name] of Object.entries({
	'/barista': 'barista',
	'/orders': 'orders',
	'/slow': 'slow',
	'/readyz': 'readyz',
	'/plain': 'plain',
})) {
	Get(path)(Waiter.prototype, name, Object.getOwnPropertyDescriptor(Waiter.prototype, name));
}
Controller()(Waiter);
// What TypeScript emits as the types of the parameters, with emitDecoratorMetadata.
Reflect.defineMetadata(
	'design:paramtypes',
	[Diplomat, Object, SpockHealthIndicator, HealthCheckService, AppRegistration],
	Waiter,
);
InjectDiplomat('second')(Waiter, undefined, 1);

class ServicesModule {}
const provider = { provide: SERVICES, useValue: { orders: [{ host: '10.0.0.2', port: 80 }] } };
Module({ providers: [provider], exports: [provider] })(ServicesModule);

class AppModule {}
Module({
	imports: [
		// It would log each check that fails, such as those before the app is ready.
		TerminusModule.forRoot({ logger: false }),
		SpockModule.forRoot({
			register: { service: 'waiter', host: '127.0.0.1' },
			appName: 'nest-waiter',
			readyTimeoutMs: 500,
		}),
		SpockModule.forRootAsync({
			name: 'second',
			imports: [ServicesModule],
			inject: [SERVICES],
			useFactory: async (services) => ({ source: await localSource({ services }) }),
		}),
	],
	controllers: [Waiter],
})(AppModule);

const app = await NestFactory.create(AppModule, { logger: ['fatal', 'error'], abortOnError: false });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
const diplomat = app.get(Diplomat);
const second = app.get(diplomatToken('second'));
void diplomat.closed.then(({ reason }) => say(`the client has ended: ${reason}`));
void second.closed.then(({ reason }) => say(`the second client has ended: ${reason}`));
const { version } = JSON.parse(readFileSync(new URL(import.meta.resolve('@nestjs/core/package.json')), 'utf8'));
say(`NestJS ${version} listens at ${await app.getUrl()}`);

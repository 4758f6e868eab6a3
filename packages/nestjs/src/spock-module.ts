import { type DynamicModule, type FactoryProvider, Module, type ModuleMetadata, type Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type CreateOptions, connect, createDiplomat, type Diplomat } from '@spock/client';
import { AppRegistration, type AppRegistrationData, diplomatOption } from '@spock/client/integrations';
import { booleanOption } from '@spock/protocol/internal';

import { AppLife } from './app-life.ts';
import { diplomatToken } from './diplomat-token.ts';
import { followRegistration, SpockHealthIndicator } from './spock-health-indicator.ts';

/** One client of the app: the options of `connect`, or of direct mode, or an existing client. */
export interface SpockClientOptions extends Omit<CreateOptions, 'name'> {
	/** The option `name` of the client: what the app is called in the sidecar's log. Default: the name in its package.json. */
	readonly appName?: string;
	/** An existing client. The options that make one are not used then. Default: a new one. */
	readonly diplomat?: Diplomat;
	/** Whether the client ends with the app. Default: true for a client that is made here, false for one that is given. */
	readonly drainOnShutdown?: boolean;
	/**
	 * Registers the app under this service, or with these data, while it listens over HTTP: at the port at which it does, and from
	 * then until its shutdown begins. Default: the app is not registered.
	 */
	readonly register?: string | AppRegistrationData;
}

/** What an app has several clients by. */
export interface SpockModuleExtras {
	/** Under which name the client is injected: `@InjectDiplomat('orders')`. Default: none, it is injected as `Diplomat`. */
	readonly name?: string;
	/** Whether other modules need not import it. Default true. */
	readonly isGlobal?: boolean;
}

/** Options of {@link SpockModule.forRoot}. */
export interface SpockModuleOptions extends SpockClientOptions, SpockModuleExtras {}

/** Options of {@link SpockModule.forRootAsync}. */
export interface SpockModuleAsyncOptions extends SpockModuleExtras {
	/** Modules whose providers the factory is given. */
	readonly imports?: NonNullable<ModuleMetadata['imports']>;
	/** The providers that the factory is given, such as `ConfigService`. */
	readonly inject?: NonNullable<FactoryProvider['inject']>;
	// biome-ignore lint/suspicious/noExplicitAny: what is injected is the caller's, as in Nest's own modules.
	readonly useFactory: (...injected: any[]) => SpockClientOptions | Promise<SpockClientOptions>;
}

/**
 * A Diplomat for the app: connected before the app starts, which fails with its error if there is no sidecar; drained when the last
 * request has ended. For that at SIGTERM the app calls `app.enableShutdownHooks()`.
 *
 *     @Module({ imports: [SpockModule.forRoot({ register: 'waiter' })] })
 *     class AppModule {}
 */
// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class.
export class SpockModule {
	/** Throws a TypeError for wrong names; wrong options of the client fail the start of the app. */
	static forRoot({ name, isGlobal, ...options }: SpockModuleOptions = {}): DynamicModule {
		return clientModule({ name, isGlobal }, { useFactory: () => options });
	}

	/** As `forRoot`, with options that come from other providers, or take time. */
	static forRootAsync({ name, isGlobal, imports, inject, useFactory }: SpockModuleAsyncOptions): DynamicModule {
		if (typeof useFactory !== 'function')
			throw new TypeError('forRootAsync needs useFactory, which returns the options');
		return clientModule({ name, isGlobal }, { useFactory, ...(inject && { inject }) }, imports);
	}
}
Module({})(SpockModule);

type Extras = { readonly [K in keyof SpockModuleExtras]: SpockModuleExtras[K] | undefined };

function clientModule(
	{ name, isGlobal = true }: Extras,
	options: Pick<FactoryProvider, 'useFactory' | 'inject'>,
	imports: SpockModuleAsyncOptions['imports'] = [],
): DynamicModule {
	booleanOption('isGlobal', isGlobal);
	const diplomat = diplomatToken(name);
	const suffix = name === undefined ? '' : `:${name}`;
	const given = `spock:options${suffix}`;
	// The class itself for the client without a name, as with the client.
	const registration = name === undefined ? AppRegistration : `spock:registration${suffix}`;
	const providers: Provider[] = [
		{ provide: given, ...options },
		{ provide: diplomat, useFactory: openClient, inject: [given] },
		{ provide: registration, useFactory: registrationOf, inject: [diplomat, given] },
		{
			provide: `spock:life${suffix}`,
			useFactory: lifeOf,
			inject: [diplomat, registration, given, { token: HttpAdapterHost, optional: true }],
		},
	];
	if (name === undefined) providers.push(SpockHealthIndicator);
	const exports = name === undefined ? [diplomat, registration, SpockHealthIndicator] : [diplomat];
	return { module: SpockModule, global: isGlobal, imports, providers, exports };
}

async function openClient(options: SpockClientOptions): Promise<Diplomat> {
	const { diplomat, drainOnShutdown, register, appName, ...rest } = options;
	booleanOption('drainOnShutdown', drainOnShutdown ?? true);
	if (diplomat !== undefined) return diplomatOption(diplomat);
	const client = { ...rest, ...(appName !== undefined && { name: appName }) };
	return client.source === undefined ? connect(client) : createDiplomat(client);
}

async function registrationOf(diplomat: Diplomat, options: SpockClientOptions): Promise<AppRegistration | undefined> {
	if (options.register === undefined) return undefined;
	try {
		const own = new AppRegistration(diplomat, options.register);
		followRegistration(diplomat, own);
		return own;
	} catch (error) {
		// Its connection would keep alive a process that has failed to start.
		if (drains(options)) await diplomat.close();
		throw error;
	}
}

function drains({ drainOnShutdown, diplomat }: SpockClientOptions): boolean {
	return drainOnShutdown ?? diplomat === undefined;
}

function lifeOf(
	diplomat: Diplomat,
	own: AppRegistration | undefined,
	options: SpockClientOptions,
	host: HttpAdapterHost | undefined,
): AppLife {
	return new AppLife({ diplomat, own, drains: drains(options), host });
}

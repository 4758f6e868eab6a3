import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';
import type { Diplomat } from '@spock/client';
import type { AppRegistration } from '@spock/client/integrations';

/** What of the app's life one client takes part in. */
export interface AppLifeParts {
	readonly diplomat: Diplomat;
	/** Undefined for a client by which the app is not registered. */
	readonly own: AppRegistration | undefined;
	/** Whether the client ends with the app. */
	readonly drains: boolean;
	/** Of an app without HTTP its adapter is undefined. */
	readonly host: HttpAdapterHost | undefined;
}

/** Registers the app when it listens, deregisters it before Nest closes its servers, and drains the client after. */
export class AppLife implements BeforeApplicationShutdown, OnApplicationShutdown {
	readonly #parts: AppLifeParts;
	readonly #listening: { unsubscribe(): void } | undefined;

	constructor(parts: AppLifeParts) {
		this.#parts = parts;
		const { own, host } = parts;
		if (own !== undefined)
			this.#listening = host?.listen$.subscribe(() => own.start(host.httpAdapter.getHttpServer().address()));
	}

	/** Servers take requests until every such hook has ended. */
	async beforeApplicationShutdown(): Promise<void> {
		this.#listening?.unsubscribe();
		await this.#parts.own?.withdraw();
	}

	/** Requests under way have ended. */
	async onApplicationShutdown(): Promise<void> {
		if (this.#parts.drains) await this.#parts.diplomat.drain();
	}
}

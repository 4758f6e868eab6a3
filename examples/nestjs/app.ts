import {
	BadGatewayException,
	Controller,
	Get,
	Injectable,
	Module,
	type OnApplicationShutdown,
	Param,
	ServiceUnavailableException,
} from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Diplomat } from '@spock/client';
import { SpockHealthIndicator, SpockModule } from '@spock/nestjs';
import { createFetch, type ServiceFetch } from '@spock/undici';

const CALL_TIMEOUT_MS = 2000;

/** Has the barista make drinks. */
@Injectable()
class Barista implements OnApplicationShutdown {
	readonly #fetch: ServiceFetch;

	constructor(diplomat: Diplomat) {
		// Goes to a healthy instance, and to another one where that refuses.
		this.#fetch = createFetch({ diplomat });
	}

	async make(drink: string): Promise<string> {
		const url = `http://barista.spock/make/${encodeURIComponent(drink)}`;
		const options = { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) };
		const response = await this.#fetch(url, options).catch((error: Error) => {
			// The cause names the service and the instance.
			throw new ServiceUnavailableException(String(error.cause ?? error));
		});
		const text = await response.text();
		if (!response.ok) throw new BadGatewayException(`the barista answers ${response.status}`);
		return text;
	}

	async onApplicationShutdown(): Promise<void> {
		await this.#fetch.close();
	}
}

/** A waiter: takes orders over HTTP. */
@Controller()
class Waiter {
	readonly #barista: Barista;

	constructor(barista: Barista) {
		this.#barista = barista;
	}

	@Get('/order/:drink')
	async order(@Param('drink') drink: string): Promise<{ drink: string; made: string }> {
		return { drink, made: await this.#barista.make(drink) };
	}
}

/** For the readiness probe. */
@Controller()
class Health {
	readonly #health: HealthCheckService;
	readonly #spock: SpockHealthIndicator;

	constructor(health: HealthCheckService, spock: SpockHealthIndicator) {
		this.#health = health;
		this.#spock = spock;
	}

	@Get('/readyz')
	readyz() {
		return this.#health.check([() => this.#spock.check('spock')]);
	}
}

@Module({
	imports: [
		TerminusModule,
		// In a pod leave `host` out: the sidecar knows what to advertise.
		SpockModule.forRoot({ register: { service: 'waiter', host: '127.0.0.1' } }),
	],
	controllers: [Waiter, Health],
	providers: [Barista],
})
export class AppModule {}

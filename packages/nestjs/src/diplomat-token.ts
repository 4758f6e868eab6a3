import { Inject, type InjectionToken } from '@nestjs/common';
import { Diplomat } from '@spock/client';

/**
 * What a client is injected by: the class `Diplomat` for the one without a name, else a text. For `useFactory` of your own
 * providers, and for `module.get`.
 */
export function diplomatToken(name?: string): InjectionToken<Diplomat> {
	if (name === undefined) return Diplomat;
	if (typeof name !== 'string' || name === '') {
		throw new TypeError(`name must be a text that is not empty, got ${JSON.stringify(name)}`);
	}
	return `spock:diplomat:${name}`;
}

/**
 * Injects a client into a constructor or a property: `@InjectDiplomat('orders')` that of `SpockModule.forRoot({ name: 'orders' })`,
 * `@InjectDiplomat()` the one without a name, for which the type `Diplomat` alone is enough too.
 */
export function InjectDiplomat(name?: string): PropertyDecorator & ParameterDecorator {
	return Inject(diplomatToken(name));
}

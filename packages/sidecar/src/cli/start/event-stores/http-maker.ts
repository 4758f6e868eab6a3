import { SpockError } from '@spock/protocol';

import { addressesOf, type StoreMaker, tokenIn } from './store-maker.ts';

export const httpMaker: StoreMaker = {
	settings: ['eventsHttpUrl', 'eventsHttpService', 'eventsHttpTokenFile'],
	tokenSetting: 'eventsHttpTokenFile',

	check({ eventsHttpUrl: url, eventsHttpService: service }) {
		if (url.value === undefined) throw new Error('--events-store http needs --events-http-url URL');
		if (!URL.canParse(filled(url.value, 'host:1')) || !/^https?:/i.test(url.value)) {
			throw new Error(`${url.where} must be an http or https URL, not ${url.value}`);
		}
		const hasAddress = url.value.includes('{address}');
		if (hasAddress && service.value === undefined)
			throw new Error(`{address} in ${url.where} needs --events-http-service NAME`);
		if (!hasAddress && service.value !== undefined) {
			throw new Error(`${service.where} needs {address} in --events-http-url, such as http://{address}/events`);
		}
	},

	async make(settings, { source, random, owner }) {
		const { HttpStore } = await import('@spock/events/stores');
		const [url, service] = [settings.eventsHttpUrl.value as string, settings.eventsHttpService.value];
		return new HttpStore({
			owner,
			url: async () => {
				if (service === undefined) return url;
				const addresses = await addressesOf(source, service);
				if (addresses.length === 0) throw new SpockError('UNAVAILABLE', `service "${service}" has no healthy instance`);
				return filled(url, addresses[Math.floor(random() * addresses.length)] as string);
			},
			headers: async () => {
				const token = await tokenIn(settings.eventsHttpTokenFile);
				return token === undefined ? {} : { authorization: `Bearer ${token}` };
			},
		});
	},
};

function filled(url: string, address: string): string {
	return url.replaceAll('{address}', address);
}

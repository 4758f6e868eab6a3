import { expect, it } from 'vitest';

import type { Settings } from '../settings/settings.ts';
import { adminAddressOf } from './start-admin.ts';

const settings = (value: string): Settings =>
	({ admin: { value, where: '--admin' }, adminAny: { value: false } }) as unknown as Settings;

it('an admin address without a colon is refused by the name of its flag, with the form that was meant', () => {
	expect(() => adminAddressOf(settings('9464'))).toThrow(
		'--admin must be HOST:PORT, [IPV6]:PORT or :PORT, not "9464"; did you mean ":9464"?',
	);
	expect(adminAddressOf(settings(':9464'))).toMatchObject({ host: '127.0.0.1', port: 9464 });
});

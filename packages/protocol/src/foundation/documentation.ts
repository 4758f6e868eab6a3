// Written by `npm run tables release` from release.json.

/** Where the pages are that errors and help name: an address, or a path in the directory of an app that has the packages installed. */
export const DOCUMENTATION = 'node_modules/@spock/client/docs';

/** Name and version of this package, as sent in hello. A test keeps it equal to package.json. */
export const CLIENT_VERSION = '@spock/client/0.1.0';

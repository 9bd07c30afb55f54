/** What a lock program says of its library. */
final class Library {
    /** The version of the library that a class belongs to, as the name of its jar tells it. */
    static String version(Class<?> type) {
        String jar = type.getProtectionDomain().getCodeSource().getLocation().getPath();
        return jar.replaceAll(".*-(\\d[^/]*)\\.jar$", "$1");
    }
}

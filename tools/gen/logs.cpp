#include "gen/logs.hpp"

#include <chrono>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace gen {
namespace {

constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
/// The zones of one log, in minutes east of UTC.
constexpr int kZones[] = {0, 0, 60, -300, 330};
constexpr std::string_view kHosts[] = {"web1", "web2", "db1", "mail", "gateway"};
constexpr std::string_view kUsers[] = {"ann", "bob", "carol", "deploy", "backup"};
constexpr std::string_view kThings[] = {"order", "customer", "basket", "invoice", "shipment", "payment"};
constexpr std::string_view kClasses[] = {"Order", "Customer", "Basket", "Invoice", "Shipment", "Payment"};
constexpr std::string_view kPaths[] = {"/",          "/index.html",  "/api/v1/items/", "/images/",
                                       "/search?q=", "/login?from=", "/static/js/",    "/blog/20"};
constexpr std::string_view kAgents[] = {"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                                        "Googlebot/2.1",
                                        "curl/8.8.0",
                                        "kube-probe/1.30",
                                        "okhttp/4.12.0",
                                        "-"};

/// Appends the parts of one record, which `id` chooses.
class Writer {
 public:
  Writer(std::string& to, std::uint64_t nanoseconds, std::uint64_t id)
      : to_(to), state_(id), nanoseconds_(nanoseconds) {}

  Writer& Text(std::string_view text) {
    to_ += text;
    return *this;
  }
  Writer& Fill(std::uint64_t bytes) {
    to_.append(bytes, 'x');
    return *this;
  }
  /// Appends a number with at least `width` characters.
  Writer& Number(std::uint64_t value, std::size_t width = 1, char fill = '0') {
    char digits[20];
    char* at = std::end(digits);
    do {
      *--at = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    const auto count = static_cast<std::size_t>(std::end(digits) - at);
    if (count < width) to_.append(width - count, fill);
    to_.append(at, count);
    return *this;
  }
  /// Appends a random number below `range`.
  Writer& Any(std::uint64_t range) { return Number(Draw(range)); }
  template <std::size_t n>
  Writer& AnyOf(const std::string_view (&texts)[n]) {
    return Text(texts[Draw(n)]);
  }
  /// Returns a random number below `range`, which is less than 2^32 (SplitMix64).
  std::uint64_t Draw(std::uint64_t range) {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (x >> 32) * range >> 32;
  }
  bool OneIn(std::uint64_t n) { return Draw(n) == 0; }

  /// Chooses the zone for Day(), Clock() and Offset().
  void SetZone(int minutes) {
    using namespace std::chrono;
    east_ = minutes;
    const std::int64_t local = kLogBegin + static_cast<std::int64_t>(nanoseconds_ / 1000000000) + minutes * 60;
    second_ = static_cast<std::uint64_t>(local % 86400);
    date_ = year_month_day(sys_days(days(local / 86400)));
  }
  unsigned day() const { return static_cast<unsigned>(date_.day()); }
  std::string_view month() const { return kMonths[static_cast<unsigned>(date_.month()) - 1]; }
  Writer& Date() {
    return Number(2026).Text("-").Number(static_cast<unsigned>(date_.month()), 2).Text("-").Number(day(), 2);
  }
  Writer& Clock() {
    return Number(second_ / 3600, 2).Text(":").Number(second_ / 60 % 60, 2).Text(":").Number(second_ % 60, 2);
  }
  Writer& Fraction(std::size_t digits) {
    std::uint64_t fraction = nanoseconds_ % 1000000000;
    for (std::size_t i = digits; i < 9; ++i) fraction /= 10;
    return Text(".").Number(fraction, digits);
  }
  Writer& Offset(std::string_view colon) {
    const auto minutes = static_cast<std::uint64_t>(east_ < 0 ? -east_ : east_);
    return Text(east_ < 0 ? "-" : "+").Number(minutes / 60, 2).Text(colon).Number(minutes % 60, 2);
  }
  int AnyZone() { return kZones[Draw(std::size(kZones))]; }
  /// Appends the address of a client. Low numbers are more frequent.
  Writer& Address() {
    const std::uint64_t host = Draw(std::uint64_t{1} << (4 + Draw(13))) * 2654435761u;
    return Number(1 + host % 223)
        .Text(".")
        .Number(host >> 8 & 255)
        .Text(".")
        .Number(host >> 16 & 255)
        .Text(".")
        .Number(host >> 24 & 255);
  }

 private:
  std::string& to_;
  std::uint64_t state_;
  std::uint64_t nanoseconds_, second_ = 0;
  int east_ = 0;
  std::chrono::year_month_day date_{};
};

/// Writes the combined format of Apache and nginx.
void Web(Writer& line, std::uint64_t stretch) {
  static constexpr std::uint64_t kStatus[] = {200, 200, 200, 200, 200, 304, 301, 404, 500};
  line.SetZone(line.AnyZone());
  line.Address().Text(" - ").Text(line.OneIn(20) ? "john doe" : line.OneIn(20) ? "alice" : "-").Text(" [");
  line.Number(line.day(), 2).Text("/").Text(line.month()).Text("/2026:").Clock().Text(" ").Offset("");
  line.Text(line.OneIn(12) ? "] \"POST " : "] \"GET ").AnyOf(kPaths).Any(1 << 20).Fill(stretch).Text(" HTTP/1.1\" ");
  line.Number(kStatus[line.Draw(std::size(kStatus))]).Text(" ").Any(1 << (4 + line.Draw(16))).Text(" \"");
  line.Text(line.OneIn(2) ? "-" : "https://example.com/").Text("\" \"").AnyOf(kAgents).Text("\"\n");
}

/// Writes lines as rsyslog does, with neither year nor zone.
void Syslog(Writer& line, std::uint64_t stretch) {
  line.SetZone(0);
  line.Text(line.month()).Text(" ").Number(line.day(), 2, ' ').Text(" ").Clock().Text(" ").AnyOf(kHosts);
  switch (line.Draw(5)) {
    case 0:
      line.Text(" sshd[").Any(32768).Text("]: Accepted publickey for ").AnyOf(kUsers).Text(" from ").Address();
      line.Text(" port ").Number(1024 + line.Draw(60000)).Text(" ssh2");
      break;
    case 1:
      line.Text(" CRON[").Any(32768).Text("]: (root) CMD (run-parts --report /etc/cron.hourly)");
      break;
    case 2:
      line.Text(" kernel: [").Number(line.Draw(9999999), 5, ' ').Text(".").Number(line.Draw(1000000), 6);
      line.Text("] eth0: Link is Up - 10 Gbps/Full - flow control off");
      break;
    case 3:
      line.Text(" systemd[1]: Started Session ").Any(100000).Text(" of user ").AnyOf(kUsers).Text(".");
      break;
    default:
      line.Text(" postfix/smtpd[").Any(32768).Text("]: connect from unknown[").Address().Text("]");
  }
  line.Fill(stretch).Text("\n");
}

void StackFrame(Writer& line, std::string_view package, std::uint64_t kind) {
  line.Text("\tat ").Text(package).Text(kClasses[kind]).Text("Service.process(").Text(kClasses[kind]);
  line.Text("Service.java:").Number(1 + line.Draw(900)).Text(")\n");
}

/// Writes lines as Spring Boot does with logback. One in five records has a stack trace.
void Application(Writer& line, std::uint64_t stretch, bool is_short) {
  static constexpr std::string_view kPackages[] = {"com.example.shop.", "org.springframework.web.",
                                                   "org.hibernate.internal.", "java.base/java.util.concurrent."};
  static constexpr std::string_view kExceptions[] = {
      "java.lang.IllegalStateException", "java.net.SocketTimeoutException", "org.hibernate.StaleObjectStateException"};
  const bool failed = line.OneIn(5) && !is_short;
  const std::uint64_t kind = line.Draw(std::size(kThings));
  line.SetZone(line.AnyZone());
  line.Date().Text("T").Clock().Fraction(3).Offset(":").Text(failed           ? " ERROR "
                                                             : line.OneIn(10) ? "  WARN "
                                                                              : "  INFO ");
  line.Number(1 + line.Draw(32768)).Text(" --- [shop] [nio-8080-exec-").Any(16).Text("] c.e.shop.");
  line.Text(kClasses[kind]).Text("Service : ").Text(failed ? "cannot save " : "saved ").Text(kThings[kind]).Text(" ");
  line.Any(1 << 24).Text(" in ").Any(900).Text(" ms").Fill(stretch).Text("\n");
  if (!failed) return;
  line.Text("\n").AnyOf(kExceptions).Text(": ").Text(kThings[kind]).Text(" was changed by another session\n");
  for (std::uint64_t frames = 4 + line.Draw(12); frames > 0; --frames) StackFrame(line, kPackages[line.Draw(4)], kind);
  if (line.OneIn(2)) return;
  line.Text("Caused by: ").AnyOf(kExceptions).Text(": connection reset\n");
  for (std::uint64_t frames = 1 + line.Draw(6); frames > 0; --frames) StackFrame(line, kPackages[0], kind);
  line.Text("\t... ").Number(2 + line.Draw(60)).Text(" more\n");
}

/// Writes lines as PostgreSQL does. One in five records has a statement of several lines.
void Postgres(Writer& line, std::uint64_t stretch, bool is_short) {
  const bool central = line.OneIn(2);
  const std::string_view thing = kThings[line.Draw(std::size(kThings))];
  line.SetZone(central ? 60 : 0);
  line.Date().Text(" ").Clock().Fraction(3).Text(central ? " CET [" : " UTC [").Any(32768).Text("] app@shop ");
  if (line.OneIn(10)) {
    line.Text("ERROR:  duplicate key value violates unique constraint \"").Text(thing).Text("_pkey\"").Fill(stretch);
  } else {
    const std::string_view space = line.OneIn(5) && !is_short ? "\n\t" : " ";
    line.Text("LOG:  duration: ")
        .Any(2000)
        .Text(".")
        .Number(line.Draw(1000), 3)
        .Text(" ms  statement: SELECT id, total");
    line.Text(space).Text("FROM ").Text(thing).Text("s").Fill(stretch).Text(space).Text("WHERE id = ").Any(1 << 24);
  }
  line.Text("\n");
}

/// Writes JSON Lines.
void Json(Writer& line, std::uint64_t stretch) {
  const int zone = line.AnyZone();
  line.SetZone(zone);
  line.Text("{\"level\":\"").Text(line.OneIn(10) ? "error" : "info").Text("\",\"time\":\"").Date().Text("T").Clock();
  line.Fraction(6);
  if (zone == 0) line.Text("Z");
  if (zone != 0) line.Offset(":");
  line.Text("\",\"service\":\"").AnyOf(kThings).Text("\",\"client\":\"").Address().Text("\",\"ms\":").Any(900);
  line.Text(",\"msg\":\"request ").Any(1 << 24).Text(" served").Fill(stretch).Text("\"}\n");
}

}  // namespace

void AppendLogRecord(LogKind kind, std::uint64_t nanoseconds, std::uint64_t id, std::uint64_t stretch, bool is_short,
                     std::string& to) {
  Writer line(to, nanoseconds, id);
  switch (kind) {
    case LogKind::kWeb:
      return Web(line, stretch);
    case LogKind::kSyslog:
      return Syslog(line, stretch);
    case LogKind::kApplication:
      return Application(line, stretch, is_short);
    case LogKind::kPostgres:
      return Postgres(line, stretch, is_short);
    case LogKind::kJson:
      return Json(line, stretch);
  }
}

}  // namespace gen

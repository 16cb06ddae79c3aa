"""Dashboards as code: `make dashboards` writes them to grafana/generated/, where Grafana finds them."""
